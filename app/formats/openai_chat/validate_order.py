"""What single servers ask of the order and the form of messages, by the target's rules; nothing of it holds for the format as such.

Sources: the wire-format notes 2.1, 2.4 and 2.5.
"""

from collections.abc import Mapping
from typing import Any

from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

Found = list[Violation]


def check_order(body: Mapping[str, Any], found: Found, rules: WireRules) -> None:
    """Appends what a server of these rules would refuse; O(messages), and nothing where the rules ask for nothing."""
    asked = (rules.user_first, rules.user_last, rules.reply_after_results, rules.merge_users, rules.reasoning_always)
    if not any(asked) and rules.blank_texts and rules.content_lists:
        return
    messages = body.get("messages")
    spoken = [
        (f"/messages/{index}", message)
        for index, message in enumerate(messages if isinstance(messages, list) else ())
        if isinstance(message, Mapping) and message.get("role") not in ("system", "developer")
    ]
    if not spoken:
        return
    if rules.user_first and spoken[0][1].get("role") != "user":
        found.append(Violation(f"{spoken[0][0]}/role", "first-not-user", "The first message is a user's."))
    if rules.user_last and spoken[-1][1].get("role") not in ("user", "tool"):
        found.append(Violation(f"{spoken[-1][0]}/role", "last-not-user", "The last message is a user's or a tool's."))
    before: Any = None
    for at, message in spoken:
        role = message.get("role")
        if rules.reply_after_results and (before, role) == ("tool", "user"):
            found.append(Violation(f"{at}/role", "user-after-tool", "An answer stands between results and the next input."))
        if rules.merge_users and before == role == "user":
            found.append(Violation(f"{at}/role", "users-in-a-row", "Inputs that follow one another are one message."))
        before = role
        if role == "assistant":
            _answer(message, at, found, rules, _thinks(body))
        elif not rules.blank_texts and _blank(message.get("content")):
            found.append(Violation(f"{at}/content", "content-blank", "A message is not blank."))


def _thinks(body: Mapping[str, Any]) -> bool:
    thinking = body.get("thinking")
    return not (isinstance(thinking, Mapping) and thinking.get("type") == "disabled")


def _answer(message: Mapping[str, Any], at: str, found: Found, rules: WireRules, thinks: bool) -> None:
    content = message.get("content")
    if not rules.content_lists and isinstance(content, list):
        found.append(Violation(f"{at}/content", "content-not-text", "The content of an answer is a string."))
    if not rules.blank_texts and _blank(content) and not message.get("tool_calls"):
        found.append(Violation(f"{at}/content", "content-blank", "An answer has content or calls."))
    key = rules.reasoning_key or "reasoning_content"
    if rules.reasoning_always and thinks and not isinstance(message.get(key), str):
        found.append(Violation(f"{at}/{key}", "reasoning-missing", f"Every answer has `{key}`, empty where it had none."))


def _blank(content: Any) -> bool:
    return content is None or (isinstance(content, str) and not content.strip())
