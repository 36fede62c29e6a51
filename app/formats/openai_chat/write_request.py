"""A neutral request to the bytes of a Chat Completions request, and the pointers of everything in it.

Drops and reorders nothing; inputs that follow one another become one message where the server asks for that. What the format cannot say
becomes a stand-in text or is left out, with a loss.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from app.context.draft import NeutralRequest
from app.context.passes.fitting import stand_in
from app.context.sources import Tool
from app.entries.parts import Media, Opaque, Part, Reasoning, Text
from app.formats.openai_chat.media import media_part
from app.formats.openai_chat.rules import ERROR_MARK
from app.formats.openai_chat.write_answer import AnswerWriter
from app.formats.openai_chat.write_options import options, thinks
from app.formats.protocols import Pointer, WireLoss, Written
from app.formats.writing import Writing, spelled

_point: Callable[[tuple[str, int, int | None]], Pointer] = partial(tuple.__new__, Pointer)
"""Makes a `Pointer` from its three fields at once: a third of the time of a named constructor, several hundred times a body."""

Shape = Sequence[tuple[str, int]]
"""Where the parts of one message stand: a pointer below the message's own, and the part's position in the neutral message."""

_ONE_TEXT: Shape = (("/content", 0),)


def write_request(request: NeutralRequest, blobs: Mapping[str, bytes]) -> Written:
    """The body, always a streaming one. `blobs`: digest → bytes of the images and files that the messages name.

    Equal requests give equal bytes. Lone surrogates, which UTF-8 has no form for, become U+FFFD with a loss.
    """
    body, document, writer = spelled(lambda scrub: _Writer(request, blobs, scrub=scrub))
    locate = partial(_pointers, writer.places or range(writer.head_messages, writer.head_messages + len(writer.shapes)), writer.shapes)
    return Written(body, document, locate, tuple(writer.losses), tuple(writer.sections), tuple(writer.tools))


def _pointers(places: Sequence[int], shapes: Sequence[Shape]) -> tuple[Pointer, ...]:
    """The pointers of the neutral messages and their parts, in order; `places`: which message of the body each stands in."""
    found: list[Pointer] = []
    for source, (place, shape) in enumerate(zip(places, shapes, strict=True)):
        base = f"/messages/{place}"
        found.append(_point((base, source, None)))
        for below, part in shape:
            found.append(_point((base + below, source, part)))
    return tuple(found)


class _Writer(Writing):
    """One pass over a request. `places` is empty where each neutral message is a message of its own."""

    __slots__ = ("answers", "blobs", "head_messages", "places", "request", "rules", "sections", "shapes", "tools")

    def __init__(self, request: NeutralRequest, blobs: Mapping[str, bytes], *, scrub: bool) -> None:
        super().__init__(scrub=scrub)
        self.request = request
        self.rules = request.target.rules
        self.answers = AnswerWriter(self, self.rules, thinks=thinks(request))
        self.blobs = blobs
        self.head_messages = 0
        self.places: list[int] = []
        self.shapes: list[Shape] = []
        self.sections: list[str] = []
        self.tools: list[str] = []

    def document(self) -> dict[str, Any]:
        """The body as a tree, keys in the order in which they are sent."""
        request = self.request
        document: dict[str, Any] = {"model": self.text(request.target.model.name), "messages": self.messages()}
        if request.tools:
            document["tools"] = [self.tool(tool) for tool in request.tools]
            self.tools = [f"/tools/{index}" for index in range(len(request.tools))]
        return document | options(self, request)

    def messages(self) -> list[dict[str, Any]]:
        """One head message of the system sections, joined by a blank line, then one message for each neutral one."""
        found: list[dict[str, Any]] = []
        head = "\n\n".join(section.text for section in self.request.system if section.text)
        if head:
            found.append({"role": self.rules.system_role, "content": self.text(head)})
        self.sections = ["/messages/0/content" if section.text else "" for section in self.request.system]
        self.head_messages = len(found)
        shapes, place, plain = self.shapes, found.append, not self.scrub
        plain_answers = plain and not self.rules.reasoning_always
        for source, (role, parts, _, called, _, failed) in enumerate(self.request.messages):
            # One text is what most messages are; each has its own way only for the time that the general ones take.
            only = parts[0] if len(parts) == 1 else None
            text = only.text if isinstance(only, Text) else None
            if role == "assistant":
                if plain_answers and isinstance(only, Text) and only.opaque is None:
                    place({"role": "assistant", "content": only.text})
                    shapes.append(_ONE_TEXT)
                else:
                    shape: list[tuple[str, int]] = []
                    place(self.answers.write(source, parts, shape))
                    shapes.append(shape)
            elif text is not None and plain:
                if role == "tool":
                    place({"role": "tool", "tool_call_id": called or "", "content": ERROR_MARK + text if failed else text})
                else:
                    place({"role": "user", "content": text})
                shapes.append(_ONE_TEXT)
            else:
                shape = []
                if role == "tool":
                    place({"role": "tool", "tool_call_id": self.text(called or "", source), "content": self.result(source, parts, failed, shape)})
                else:
                    place({"role": "user", "content": self.user(source, parts, shape)})
                shapes.append(shape)
        return self.merged(found) if self.rules.merge_users else found

    def merged(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The messages with each run of inputs as one, whose content is a list of all their parts (notes 2.1)."""
        found = messages[: self.head_messages]
        for source, message in enumerate(messages[self.head_messages :]):
            before = found[-1] if len(found) > self.head_messages else None
            if before is None or message["role"] != "user" or before["role"] != "user":
                found.append(message)
            else:
                start = len(_listed(before, self.shapes, source - 1))
                before["content"] = [*before["content"], *_listed(message, self.shapes, source)] or ""
                self.shapes[source] = [(f"/content/{start + number}", part) for number, (_, part) in enumerate(self.shapes[source])]
            self.places.append(len(found) - 1)
        return found

    def user(self, source: int, parts: tuple[Part, ...], shape: list[tuple[str, int]]) -> str | list[dict[str, Any]]:
        """A single text is sent as a string, anything else as a list of parts in order."""
        if len(parts) == 1 and isinstance(parts[0], Text):
            shape.append(("/content", 0))
            return self.text(parts[0].text, source, 0)
        content: list[dict[str, Any]] = []
        for index, part in enumerate(parts):
            if isinstance(part, Text):
                sent: dict[str, Any] = {"type": "text", "text": self.text(part.text, source, index)}
            elif isinstance(part, Media):
                sent, why = media_part(part, self.blobs, self.rules)
                if why is not None:
                    self.losses.append(WireLoss(part.kind, why, source, index))
                sent = self.value(sent, source, index)
            else:
                self.unsaid(part, source, index)
                continue
            shape.append((f"/content/{len(content)}", index))
            content.append(sent)
        return content or ""

    def result(self, source: int, parts: tuple[Part, ...], failed: bool, shape: list[tuple[str, int]]) -> str:
        """The text of a tool result: its parts joined by line breaks, pictures and files named, a failure marked in front."""
        texts: list[str] = []
        for index, part in enumerate(parts):
            if isinstance(part, Text):
                texts.append(self.text(part.text, source, index))
            elif isinstance(part, Media):
                self.losses.append(WireLoss(part.kind, "not_in_results", source, index))
                texts.append(self.text(stand_in(part), source, index))
            else:
                self.unsaid(part, source, index)
                continue
            shape.append(("/content", index))
        said = "\n".join(texts)
        return ERROR_MARK + said if failed else said

    def unsaid(self, part: Part, source: int, index: int) -> None:
        """Records a part that this format has no place for."""
        what = "opaque" if isinstance(part, Opaque) else "reasoning" if isinstance(part, Reasoning) else "tool_call"
        self.losses.append(WireLoss(what, "not_in_format", source, index))

    def tool(self, tool: Tool) -> dict[str, Any]:
        function: dict[str, Any] = {"name": self.text(tool.name)}
        if tool.description:
            function["description"] = self.text(tool.description)
        function["parameters"] = self.value(tool.parameters)
        return {"type": "function", "function": function}


def _listed(message: dict[str, Any], shapes: list[Shape], source: int) -> list[Any]:
    """The content of an input as a list of parts, made one where it was a text, and its parts' places with it."""
    if isinstance(message["content"], str):
        message["content"] = [{"type": "text", "text": message["content"]}] if shapes[source] else []
        shapes[source] = [("/content/0", part) for _, part in shapes[source]]
    found: list[Any] = message["content"]
    return found
