"""Content that the target takes: media, blank texts, arguments that are no object. What it does not take is replaced, never silently.

One picture of a kind that a provider refuses would make every later call of the session fail, so such a one is named instead of
sent. Images and files of a tool result go behind the results of their answer, as user input, where they may not stand in one.
Arguments keep their exact text where the wire takes text; where it takes an object, and the model wrote none, the text is wrapped.
One that is an object but for line breaks and the like in its strings, as models write them, has those escaped.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

import orjson

from app.config.limits import JSON_DEPTH_MAX
from app.context.draft import Count, Draft, Item, NeutralMessage, Reason, Rendered
from app.context.passes.many_images import TOO_LARGE, Place, left_out
from app.entries import lossless
from app.entries.parts import Media, Part, Text, ToolCall
from app.models.wire_rules import WireRules

NAME = "fitting"

NO_OUTPUT = "(no output)"
"""What a result without any text says where blank texts are refused."""

EMPTY_ARGUMENTS = "{}"
WRAPPED_KEY = "rawInvalidInput"
"""The key under which argument text that is no JSON object is sent where an object is asked for (wire-format notes 0.5, as the AI SDK does)."""

_MARK = re.compile(r'\\.|["\0-\x1f]', re.DOTALL)
"""An escaped character, the mark of a string's begin and end, a control character."""

Placed = tuple[Part, int | None]
"""A part, and the position of the part that it is of; None for words of our own."""

Moved = list[tuple[Item, list[Placed]]]
"""Media on their way behind the results of an answer."""


def run(draft: Draft, count: Count) -> None:
    """Replaces what the target does not take; O(parts)."""
    fitter = _Fitter(draft, count)
    behind: list[tuple[int, Moved]] = []
    moved: Moved = []
    for position, item in enumerate(draft.placed):
        message = item.message
        if message is None:
            continue
        if moved and message.role != "tool":
            behind.append((position, moved))
            moved = []
        if fitter.touches(message):
            media = fitter.fit(item, message, position)
            if media:
                moved.append((item, media))
    if moved:
        behind.append((len(draft.placed), moved))
    placed = 0
    for position, group in behind:
        for item, media in group:
            _place_behind(draft, position + placed, item, media, count)
            placed += 1


class _Fitter:
    """One pass over a draft. `_parts` and `_reasons` are those of the message at hand."""

    __slots__ = ("_at", "_count", "_draft", "_left_out", "_moved", "_parts", "_reasons", "_rules", "_tokens", "_types")

    def __init__(self, draft: Draft, count: Count) -> None:
        self._draft = draft
        self._count = count
        self._rules: WireRules = draft.sources.target.rules
        self._types = {"image": frozenset(self._rules.image_types.split()), "file": frozenset(self._rules.file_types.split())}
        self._left_out: Mapping[Place, str] | None = None
        self._at = 0
        self._parts: list[Placed] = []
        self._moved: list[Placed] = []
        self._reasons: dict[Reason, None] = {}
        self._tokens = 0

    def touches(self, message: NeutralMessage) -> bool:
        """Whether anything of the message may have to change: nearly none has."""
        rules = self._rules
        if not message.parts:
            return not rules.blank_texts
        for part in message.parts:
            if type(part) is Text:
                if not rules.blank_texts and (not part.text or part.text.isspace()):
                    return True
            elif type(part) is Media or (type(part) is ToolCall and _arguments(part.arguments, rules.arguments) is not None):
                return True
        return False

    def fit(self, item: Item, message: NeutralMessage, at: int) -> list[Placed]:
        """Changes the message at that place of the list, and returns the media that go behind the results of its answer."""
        self._at = at
        self._parts, self._moved, self._reasons, self._tokens = [], [], {}, item.tokens
        for position, part in enumerate(message.parts):
            if isinstance(part, Media):
                self._media(item, message, position, part)
            elif isinstance(part, Text) and not self._rules.blank_texts and (not part.text or part.text.isspace()):
                self._reasons[Reason.BLANK_TEXT] = None
                self._tokens -= self._count(part.text)
            elif isinstance(part, ToolCall) and (fitted := _arguments(part.arguments, self._rules.arguments)) is not None:
                self._call(item, position, part, *fitted)
            else:
                self._parts.append((part, position))
        if not self._parts and message.role == "tool" and not self._rules.blank_texts:
            self._add_text(NO_OUTPUT, Reason.BLANK_TEXT, None)
        if not self._parts and message.role != "tool":
            self._draft.drop(item, Reason.BLANK_MESSAGE, NAME)
        elif self._reasons:
            parts, places = tuple(part for part, _ in self._parts), tuple(place for _, place in self._parts)
            self._draft.replace(item, tuple(self._reasons), NAME, message._replace(parts=parts), max(0, self._tokens), places)
        return self._moved

    def _media(self, item: Item, message: NeutralMessage, position: int, media: Media) -> None:
        why = "not_in_answers" if message.role == "assistant" else self._obstacle(media) or self._beside_others(position)
        if why is not None:
            self._draft.lose(item, media.kind, why, position)
            self._add_text(stand_in(media), Reason.MEDIA_NOT_TAKEN, position)
        elif message.role == "tool" and not self._in_result(message, media):
            self._moved.append((media, item.place(position)))
            self._add_text(f"[{media.kind} below]", Reason.MEDIA_MOVED, position)
        else:
            self._parts.append((media, position))

    def _in_result(self, message: NeutralMessage, media: Media) -> bool:
        rules = self._rules
        return (rules.error_media or not message.is_error) and (rules.result_images if media.kind == "image" else rules.result_files)

    def _obstacle(self, media: Media) -> str | None:
        rules, blob, image = self._rules, media.blob, media.kind == "image"
        if not (rules.images if image else rules.files):
            return f"no_{media.kind}s"
        if blob is None:
            if not media.url:
                return "no_content"
            return None if media.url.startswith("data:") or (rules.image_urls if image else rules.file_urls) else f"no_{media.kind}_urls"
        types = self._types[media.kind]
        if blob.media_type not in types and "*" not in types:
            return "media_type_not_taken"
        most = rules.image_bytes_max if image else rules.file_bytes_max
        if image and rules.image_pixels_max and max(blob.width or 0, blob.height or 0) > rules.image_pixels_max:
            return TOO_LARGE
        return f"{media.kind}_too_large" if most and blob.byte_length > most else None

    def _beside_others(self, position: int) -> str | None:
        """Why a picture that could be sent by itself is not, asked once the first one is met."""
        if self._left_out is None:
            self._left_out = left_out(self._draft.placed, self._rules, lambda media: self._obstacle(media) is None)
        return self._left_out.get((self._at, position))

    def _call(self, item: Item, position: int, call: ToolCall, arguments: str, why: str) -> None:
        self._draft.lose(item, "arguments", why, position)
        self._reasons[Reason.ARGUMENTS_FITTED] = None
        self._tokens += self._count(arguments) - self._count(call.arguments)
        self._parts.append((replace(call, arguments=arguments), position))

    def _add_text(self, text: str, reason: Reason, position: int | None) -> None:
        self._reasons[reason] = None
        self._tokens += self._count(text)
        self._parts.append((Text(text), position))


def _arguments(arguments: str, spelled_as: str) -> tuple[str, str] | None:
    """Argument text that can be sent in place of the model's, and why; None where its own can."""
    if not arguments or arguments.isspace():
        return EMPTY_ARGUMENTS, "empty_arguments"
    if spelled_as == "text" or _is_object(arguments):
        return None
    escaped = _escaped(arguments)
    if escaped != arguments and _is_object(escaped):
        return escaped, "control_characters"
    return lossless.dumps({WRAPPED_KEY: arguments}), "no_object"


def _escaped(text: str) -> str:
    """The text with the control characters inside its strings escaped, which JSON asks for and not every model does."""
    inside = False

    def spelled(mark: re.Match[str]) -> str:
        nonlocal inside
        if mark[0] == '"':
            inside = not inside
        return f"\\u{ord(mark[0]):04x}" if inside and mark[0] < " " else mark[0]

    return _MARK.sub(spelled, text)


def _is_object(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        orjson.loads(text)
    except ValueError:
        try:  # a lone surrogate in an escape, which is JSON and not UTF-8
            return isinstance(lossless.loads(text, JSON_DEPTH_MAX), dict)
        except lossless.InvalidJson:
            return False
    return True


def stand_in(media: Media) -> str:
    """What the model is told of a picture or a file that it does not get: kind, name, media type and size."""
    facts = [media.filename] if media.filename else []
    if media.blob is not None:
        facts += [media.blob.media_type, f"{media.blob.byte_length} bytes"]
    elif media.url is not None and not media.url.startswith("data:"):
        facts.append(media.url)
    return f"[{media.kind} not shown{': ' if facts else ''}{', '.join(facts)}]"


def _place_behind(draft: Draft, position: int, item: Item, media: list[Placed], count: Count) -> None:
    source = item.source
    name = "" if item.message is None else item.message.name or ""
    text = f"[From the result of {name}:]" if name else "[From the result:]"
    origin = Rendered(NAME, None if source is None else source.entry.seq)
    message = NeutralMessage("user", (Text(text), *[part for part, _ in media]), origin)
    draft.insert(position, message, Reason.MEDIA_MOVED, NAME, count(text), (None, *[place for _, place in media]))
