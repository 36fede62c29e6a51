"""What a provider put into its answers, and who may get it back (X-20, X-23; wire-format notes 0.3).

A block goes back as received to the transport, account and model that made it and to nobody else; whether its prefix is still the
one that it was made behind is asked by `binding`, once the rest of the list stands. Of another model's answer:

- a signed, encrypted or unmodelled block is left out, and so is what stood beside a text or a call;
- thinking in plain words becomes text where the rules say so (X-20), unless the answer is the model's own, which has no use for it;
- blank thinking says nothing and is left out without a word.

Thinking that led to a control of a plan, or came behind one, stays out as well: the control is not in the ledger, and no provider takes
the one without the other.

Input may hold such blocks too: imports keep what they do not model as it stood in the file.
"""

from app.context.draft import Count, Draft, Item, NeutralMessage, Reason
from app.entries.messages import Answer
from app.entries.parts import Media, Opaque, Part, Reasoning, Text, ToolCall, with_block
from app.entries.producers import BROKEN, Producer, read_producer
from app.models.resolve import Target

NAME = "reasoning"


def run(draft: Draft, count: Count) -> None:
    """Leaves in each message only what the target may get; O(parts)."""
    for item in draft.placed:
        message = item.message
        if message is None:
            continue
        answer = message.role == "assistant"
        for part in message.parts:
            if type(part) is Media or ((type(part) is Text or type(part) is ToolCall) and part.opaque is None):
                continue
            if answer or type(part) is Opaque:
                _fit(draft, item, message, count)
                break


def _fit(draft: Draft, item: Item, message: NeutralMessage, count: Count) -> None:
    target = draft.sources.target
    kept: list[Part] = []
    places: list[int] = []
    reasons: dict[Reason, None] = {}
    dropped: list[str] = []
    own = item.source is not None and isinstance(item.source.body, Answer) and item.source.body.model == target.model.name
    for position, part in enumerate(message.parts):
        found, loss, reason = _fitted(part, target, own)
        if reason is None:
            kept.append(part)
            places.append(position)
            continue
        reasons[reason] = None
        if loss is not None:
            draft.lose(item, loss[0], loss[1], position)
        if found is not None:
            kept.append(found)
            places.append(position)
        elif isinstance(part, Reasoning):
            dropped.append(part.text)
    if not reasons:
        return
    if not kept and message.role != "tool":  # a call needs its result, be it empty
        draft.drop(item, next(iter(reasons)), NAME)
        return
    tokens = max(0, item.tokens - sum(count(text) for text in dropped))
    draft.replace(item, tuple(reasons), NAME, message._replace(parts=tuple(kept)), tokens, tuple(places))


Fitted = tuple[Part | None, tuple[str, str] | None, Reason | None]
"""What is sent of a part (None: nothing), what is lost and why, and the decision; no decision: the part goes as it is."""

_AS_IT_IS: Fitted = (None, None, None)


def _fitted(part: Part, target: Target, own: bool) -> Fitted:
    match part:
        case Opaque():
            why = _refusal(part.producer, target) if part.format == target.dialect else "of_other_format"
            return _AS_IT_IS if why is None else (None, ("opaque", why), Reason.BLOCK_LEFT_OUT)
        case Reasoning(opaque=None):
            return _plain(part, target, own)
        case Reasoning():
            why = _refusal(part.producer, target)
            return _AS_IT_IS if why is None else (None, ("reasoning", why), Reason.REASONING_LEFT_OUT)
        case Text(opaque=str()) | ToolCall(opaque=str()):
            why = _refusal(part.producer, target)
            return _AS_IT_IS if why is None else (with_block(part, None, None), ("block", why), Reason.BLOCK_LEFT_OUT)
        case _:
            return _AS_IT_IS


def _plain(part: Reasoning, target: Target, own: bool) -> Fitted:
    if target.rules.reasoning_key:
        return _AS_IT_IS
    if not part.text or part.text.isspace():
        return None, None, Reason.REASONING_LEFT_OUT
    if not own and target.rules.foreign_reasoning == "text":
        return Text(part.text), ("reasoning", "sent_as_text"), Reason.REASONING_AS_TEXT
    return None, ("reasoning", "not_in_format"), Reason.REASONING_LEFT_OUT


def _refusal(producer: str | None, target: Target) -> str | None:
    """Why a block does not go back to where it would; None where it does."""
    if not target.rules.provider_blocks:
        return "not_in_format"
    made_by = read_producer(producer or "")
    if made_by is None:
        return "of_unknown_producer"
    if made_by._replace(prefix="") == target.producer:
        return "control_taken_out" if made_by.prefix == BROKEN else None
    return "signed_by_other_model" if made_by.model != target.model.name else _other(made_by, target.producer)


def _other(made_by: Producer, target: Producer) -> str:
    return "of_other_format" if made_by.dialect != target.dialect else "of_other_account"
