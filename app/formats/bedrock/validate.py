"""The rules of a Converse request that can be judged from its body: every one that it breaks, with a pointer.

Sources: the wire-format notes 6.1 and 6.2, with the tolerances of 12 (names of earlier calls need no declaration), and refusals of
Bedrock that the AI SDK recorded. Written apart from the compiler: it knows nothing of how a body came about. The size of a picture
in pixels is not judged.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.formats.bedrock.request_shape import BLOCK, MESSAGE, OPTIONS
from app.formats.bedrock.rules import CACHE_POINTS_MAX, RULES
from app.formats.bedrock.shapes import Found, check
from app.formats.bedrock.validate_blocks import Files, check_blocks, unanswered
from app.formats.bedrock.validate_options import check_options
from app.formats.bedrock.validate_usual import Matches, usual_answer, usual_results, usual_text
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules


def validate(body: Mapping[str, Any], rules: WireRules = RULES) -> list[Violation]:
    """All violations of a parsed JSON body. Details name rules, limits and positions, never content.

    `rules`: those of the target, where what a model takes is not what the dialect's defaults say.
    """
    found: Found = []
    messages = body.get("messages")
    seen = False
    files = Files()
    if isinstance(messages, list | tuple) and messages:
        seen = _messages(messages, rules, files, found)
    elif "messages" in body or not body.get("promptVariables"):  # a stored prompt brings messages of its own
        found.append(Violation("/messages", "messages-missing", "`messages` is a list of at least one message."))
    check(body, OPTIONS, "", found)
    if seen and rules.history_needs_tools and not body.get("toolConfig"):
        found.append(Violation("/toolConfig", "tools-missing", "Where the history has calls or results, tools have to be declared."))
    marks = files.cache_points + check_options(body, rules, found)
    if marks > max(CACHE_POINTS_MAX, rules.cache_breakpoints):
        found.append(Violation("", "cache-points-too-many", f"At most {CACHE_POINTS_MAX} cache points are taken."))
    return found


def _messages(messages: Sequence[Any], rules: WireRules, files: Files, found: Found) -> bool:
    """Judges every message and who may follow whom; returns whether there is a call or a result among them."""
    open_calls: dict[str, str] = {}
    is_id, is_name = _forms(rules)
    seen, before = False, ""
    for index, message in enumerate(messages):
        plain = type(message) is dict and len(message) == 2
        role = message.get("role") if plain or isinstance(message, Mapping) else None
        content = message.get("content") if plain or isinstance(message, Mapping) else None
        if role == "user" or role == "assistant":
            if role == before or (not before and role != "user"):
                _order(str(role), before, f"/messages/{index}", rules, found)
            before = role
            if plain and not open_calls and usual_text(content):
                continue  # no rule is left that it could break, and hundreds of messages are like it
        else:
            plain = False
        at = f"/messages/{index}"
        if plain and type(content) is list and content:
            if role == "user" and open_calls and usual_results(content, open_calls):
                seen = True
                continue
            if role == "assistant" and not open_calls and usual_answer(content, at, is_id, is_name, open_calls):
                seen = True
                continue
            for number, block in enumerate(content):
                check(block, BLOCK, f"{at}/content/{number}", found)
        else:
            check(message, MESSAGE, at, found)
        if isinstance(content, list | tuple):
            seen = check_blocks(content, str(role), f"{at}/content", rules, open_calls, files, found) or seen
    unanswered(open_calls, found)
    if before == "assistant":
        _ends(messages[-1], f"/messages/{len(messages) - 1}", rules, found)
    return seen


def _forms(rules: WireRules) -> tuple[Matches, Matches]:
    """Whether an id and a name are of the forms that both the dialect and the target take."""
    target_id, target_name = re.compile(rules.call_id_pattern).fullmatch, re.compile(rules.name_pattern).fullmatch
    if (rules.call_id_pattern, rules.name_pattern) == (RULES.call_id_pattern, RULES.name_pattern):
        return target_id, target_name
    is_id, is_name = re.compile(RULES.call_id_pattern).fullmatch, re.compile(RULES.name_pattern).fullmatch
    return (lambda text: is_id(text) and target_id(text)), (lambda text: is_name(text) and target_name(text))


def _order(role: str, before: str, at: str, rules: WireRules, found: Found) -> None:
    if not before and rules.user_first:
        found.append(Violation(at, "user-first", "The first message has to be a user's."))
    if role == before:
        found.append(Violation(f"{at}/role", "roles-alternate", "Roles have to alternate; messages of one role are sent as one."))


def _ends(message: Any, at: str, rules: WireRules, found: Found) -> None:
    """A list that ends with an answer: refused, or gone on from, which its last blank prevents (6.2)."""
    if rules.user_last:
        found.append(Violation(at, "user-last", "The last message has to be a user's."))
        return
    content = message.get("content") if isinstance(message, Mapping) else None
    last = content[-1] if isinstance(content, list | tuple) and content else None
    text = last.get("text") if isinstance(last, Mapping) else None
    if isinstance(text, str) and text != text.rstrip():
        found.append(Violation(f"{at}/content/{len(content or ()) - 1}/text", "trailing-blanks", "The end of the last answer may not be blank."))
