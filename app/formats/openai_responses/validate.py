"""The rules of a Responses request that can be judged from its body: every one that it breaks, with a pointer.

Sources: the wire-format notes 3.1 and 3.2, with the tolerances of 12 (`tools` may be empty, items may lack their ids). Item types and keys
that are not known are let through: what a provider gave goes back to it, new types too. That an item is sent with its id and without the
reasoning that led to it, a body does not show. Written apart from the compiler: it knows nothing of how a body came about.
"""

from collections.abc import Mapping
from typing import Any

from app.formats.openai_responses.rules import RULES, TEXT_CHARS_MAX, rules_for
from app.formats.openai_responses.validate_items import check_item
from app.formats.openai_responses.validate_options import check_options
from app.formats.openai_responses.validate_order import check_order
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_ROLES = ("user", "assistant", "system", "developer")
_ELSEWHERE = ("previous_response_id", "conversation", "prompt")
"""Keys under which the server adds items, so that a body may come without any."""


def validate(body: Mapping[str, Any], rules: WireRules = RULES) -> list[Violation]:
    """All violations of a parsed JSON body, in its order. Details name rules, limits and positions, never content.

    `rules`: those of the target; without them those of the model that the body names.
    """
    if rules is RULES and isinstance(body.get("model"), str):
        rules = rules_for(body["model"])
    found: list[Violation] = []
    items = body.get("input")
    if isinstance(items, list) and items:
        for index, item in enumerate(items):
            if isinstance(item, dict):
                text = item.get("content")
                if len(item) == 2 and type(text) is str and len(text) <= TEXT_CHARS_MAX and item.get("role") in _ROLES:
                    continue  # no rule is left that it could break, and hundreds of items are like it
                check_item(item, f"/input/{index}", found, rules)
            else:
                found.append(Violation(f"/input/{index}", "not-an-object", "An item is an object."))
        check_order(items, body, rules, found)
    elif isinstance(items, str):
        if len(items) > TEXT_CHARS_MAX:
            found.append(Violation("/input", "content-too-long", f"A text takes at most {TEXT_CHARS_MAX} characters."))
    elif items or not any(body.get(key) for key in _ELSEWHERE):
        found.append(Violation("/input", "input-missing", "`input` is a string or a list of at least one item."))
    check_options(body, found, rules)
    return found
