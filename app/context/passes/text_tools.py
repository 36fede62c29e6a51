"""Tools for a model without native calling: declared in the instructions, called and answered in text (S0-26, X-34).

The form is strict, so that an answer is a call or is none: the whole reply is one JSON object, the tool's name first. The reader that
promotes such a reply to a call is `formats/text_tools.py`; in the ledger it is a call like any other (S0-27).
"""

from app.context.draft import Count, Draft, Item, NeutralMessage, Places, Reason, SystemSection
from app.context.passes.measure import declaration
from app.context.sources import Tool
from app.entries import lossless
from app.entries.parts import Part, Reasoning, Text, ToolCall

NAME = "text_tools"

NAME_KEY, ARGUMENTS_KEY = "tool", "arguments"

ERROR_MARK = "[error] "

_HOW = (
    "You may use the tools below. To call one, reply with nothing but one JSON object of this form, without a fence and without other words:\n"
    '{"tool": "<name>", "arguments": {<arguments by the tool\'s parameters>}}\n'
    "You then get its result as the next message. Call one tool at a time. Otherwise answer in plain words.\n"
    "The tools, a JSON object each:"
)


def run(draft: Draft, tools: tuple[Tool, ...], choice: str | None, count: Count) -> None:
    """Says the declarations in the instructions and spells calls and results in text. Relies on `pairing` for results' names."""
    if tools and choice != "none":
        text = "\n".join([_HOW, *map(declaration, tools)])
        draft.system.append((SystemSection(NAME, text), count(text)))
    for item in draft.placed:
        message = item.message
        if message is None:
            continue
        if message.role == "tool":
            _result(draft, item, message, count)
        elif message.role == "assistant" and any(isinstance(part, ToolCall) for part in message.parts):
            _calls(draft, item, message, count)


def _calls(draft: Draft, item: Item, message: NeutralMessage, count: Count) -> None:
    """Spells the calls. Thinking that its provider sealed goes: it was given with the calls, and is taken back beside nothing else."""
    sealed = {place: part for place, part in enumerate(message.parts) if isinstance(part, Reasoning) and part.opaque is not None}
    for place in sealed:
        draft.lose(item, "reasoning", "call_as_text", place)
    kept = tuple([place for place in range(len(message.parts)) if place not in sealed])
    said = (message.parts[place] for place in kept)
    parts: tuple[Part, ...] = tuple([Text(spelled(part)) if isinstance(part, ToolCall) else part for part in said])
    tokens = max(0, item.tokens - sum(count(part.text) for part in sealed.values()))
    reasons = (Reason.CALL_AS_TEXT, Reason.REASONING_LEFT_OUT) if sealed else (Reason.CALL_AS_TEXT,)
    draft.replace(item, reasons, NAME, message._replace(parts=parts), tokens, kept if sealed else None)


def spelled(call: ToolCall) -> str:
    """A call in the form in which the model is asked to make one, its argument text as it wrote it."""
    return f'{{"{NAME_KEY}": {lossless.dumps(call.name)}, "{ARGUMENTS_KEY}": {call.arguments}}}'


def _result(draft: Draft, item: Item, message: NeutralMessage, count: Count) -> None:
    head = f"[result of {message.name or 'the call'}]\n" + (ERROR_MARK if message.is_error else "")
    first = message.parts[0] if message.parts else None
    places: Places | None = None
    if isinstance(first, Text):
        said: tuple[Part, ...] = (first._replace(text=head + first.text), *message.parts[1:])
    else:
        said, places = (Text(head.rstrip("\n")), *message.parts), (None, *range(len(message.parts)))
    told = NeutralMessage("user", said, message.origin)
    draft.replace(item, (Reason.RESULT_AS_TEXT,), NAME, told, item.tokens + count(head), places)
