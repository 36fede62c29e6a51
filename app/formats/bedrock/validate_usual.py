"""What nearly every message of a long conversation is, judged without the general rules: a quick yes, or no word at all.

Each of these says that a message breaks no rule, and only where it is of the plainest form; whatever it is not sure of is left to the
rules. A body has thousands of messages, and is judged before each call.
"""

from collections.abc import Callable, Sequence
from typing import Any

Matches = Callable[[str], Any]


def usual_text(content: Any) -> bool:
    """One text that says something."""
    if type(content) is not list or len(content) != 1:
        return False
    block = content[0]
    text = block.get("text") if type(block) is dict and len(block) == 1 else None
    return type(text) is str and text != "" and not text.isspace()


def usual_answer(content: Sequence[Any], at: str, is_id: Matches, is_name: Matches, open_calls: dict[str, str]) -> bool:
    """Texts and calls of new ids; the calls are open then. `is_id` and `is_name`: whole forms."""
    calls: dict[str, str] = {}
    for number, block in enumerate(content):
        if type(block) is not dict or len(block) != 1:
            return False
        call = block.get("toolUse")
        if call is None:
            text = block.get("text")
            if type(text) is not str or not text or text.isspace():
                return False
            continue
        if type(call) is not dict or len(call) != 3:
            return False
        call_id, name = call.get("toolUseId"), call.get("name")
        if type(call_id) is not str or call_id in calls or type(name) is not str or type(call.get("input")) is not dict:
            return False
        if not is_id(call_id) or not is_name(name):
            return False
        calls[call_id] = f"{at}/content/{number}/toolUse"
    open_calls.update(calls)
    return bool(calls)


def usual_results(content: Sequence[Any], open_calls: dict[str, str]) -> bool:
    """Successful results of a text each, of all calls that are open and of nothing else."""
    if len(content) != len(open_calls):
        return False
    answered: set[str] = set()
    for block in content:
        result = block.get("toolResult") if type(block) is dict and len(block) == 1 else None
        if type(result) is not dict or len(result) != 2 or not usual_text(result.get("content")):
            return False
        call_id = result.get("toolUseId")
        if type(call_id) is not str or call_id not in open_calls or call_id in answered:
            return False
        answered.add(call_id)
    open_calls.clear()
    return True
