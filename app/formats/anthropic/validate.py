"""The rules of a Messages request that can be judged from its body: every one that it breaks, with a pointer.

Sources: the wire-format notes 4.1 to 4.4, with the tolerances of 12; that no answer may end with thinking, and that a failed result holds
text alone, are error texts of the API. Signatures cannot be judged. Written apart from the compiler: it knows nothing of how a body
came about.
"""

from collections.abc import Mapping
from typing import Any

from app.formats.anthropic.rules import MESSAGES_MAX, rules_for
from app.formats.anthropic.validate_blocks import Blocks
from app.formats.anthropic.validate_conversation import Conversation
from app.formats.anthropic.validate_options import check_options
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_ROLES = ("user", "assistant", "system")
_KEYS = frozenset({"role", "content"})


def validate(body: Mapping[str, Any], rules: WireRules | None = None) -> list[Violation]:
    """All violations of a parsed JSON body, in its order. Details name rules, limits and positions, never content.

    `rules`: those of the target; None: of the model that the body names.
    """
    found: list[Violation] = []
    model = body.get("model")
    if rules is None:
        rules = rules_for(model if isinstance(model, str) else "")
    blocks = Blocks(found, rules)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        found.append(Violation("/messages", "messages-missing", "`messages` has to be a list of at least one message."))
        talk = None
    else:
        if len(messages) > MESSAGES_MAX:
            found.append(Violation("/messages", "messages-too-many", f"At most {MESSAGES_MAX} messages are taken."))
        talk = _messages(messages, blocks, found, rules)
    check_options(body, blocks, talk, found, rules)
    return found


def _messages(messages: list[Any], blocks: Blocks, found: list[Violation], rules: WireRules) -> Conversation:
    talk = Conversation(found, rules)
    text = talk.text
    for index, message in enumerate(messages):
        # What most messages are: one text that no rule is left for, but where the message stands.
        if type(message) is dict and len(message) == 2:
            content, role = message.get("content"), message.get("role")
            if type(content) is list and len(content) == 1 and (role == "user" or role == "assistant"):
                block = content[0]
                if type(block) is dict and len(block) == 2 and block.get("type") == "text":
                    said = block.get("text")
                    if type(said) is str and said and not said.isspace():
                        text(role, index, said)
                        continue
        elif not isinstance(message, Mapping):
            found.append(Violation(f"/messages/{index}", "not-an-object", "A message is an object."))
            continue
        _message(message, index, blocks, talk, found)
    talk.end()
    return talk


def _message(message: Mapping[str, Any], index: int, blocks: Blocks, talk: Conversation, found: list[Violation]) -> None:
    at, role, content = f"/messages/{index}", message.get("role"), message.get("content")
    if not _KEYS.issuperset(message):
        found.append(Violation(at, "key-unknown", "A message has no other keys than role and content."))
    if role not in _ROLES:
        found.append(Violation(f"{at}/role", "role-unknown", f"A role is one of {', '.join(_ROLES)}."))
        return
    talk.begin(role, index)
    if isinstance(content, str):
        blocks.words(content, f"{at}/content")
        talk.block("text", {"text": content}, f"{at}/content")
    elif not isinstance(content, list):
        found.append(Violation(f"{at}/content", "content-invalid", "Content is a string or a list of blocks."))
    elif not content:
        found.append(Violation(f"{at}/content", "content-empty", "Content is not empty."))
    else:
        for number, block in enumerate(content):
            place = f"{at}/content/{number}"
            if type(block) is not dict and not isinstance(block, Mapping):
                found.append(Violation(place, "not-an-object", "A block is an object."))
            elif blocks.check(block, role, place):
                talk.block(str(block["type"]), block, place)
