"""A neutral request to the bytes of a generateContent request, and the pointers of everything in it.

Contents are folded by role: inputs that follow one another are one user content, and so are answers. The results of an answer are a
user content of their own directly behind it, in the order of its calls (wire-format notes 5.2). Nothing is dropped or reordered.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from app.config.limits import TOOL_CALLS_PER_ANSWER_MAX
from app.context.draft import NeutralRequest
from app.context.sources import Tool
from app.entries.parts import Part, Text, ToolCall
from app.formats.gemini.options import generation_config, merged, tool_config
from app.formats.gemini.parts import PartsWriting, answered
from app.formats.gemini.rules import PROTECTED_KEYS, SKIP_SIGNATURE
from app.formats.protocols import Pointer, WireLoss, Written
from app.formats.writing import spelled
from app.models.resolve import UPSTREAM_PLAYS

_point: Callable[[tuple[str, int, int | None]], Pointer] = partial(tuple.__new__, Pointer)
"""Makes a `Pointer` from its three fields at once: a third of the time of a named constructor, several hundred times a body."""

Shape = Sequence[tuple[str, int]]
"""Where the parts of one message stand: a pointer below the content, and the part's position in the neutral message."""

Place = tuple[int, int, Shape | None]
"""Content and first wire part of a message, and its shape; None: it is one part, which stands there."""

_KINDS: Mapping[str, str] = {"user": "user", "agent": "user", "assistant": "model", "tool": "results"}
"""What a content is that holds messages of a role; results are a user content of their own."""

_READ_PARAMS = UPSTREAM_PLAYS | {"dialect", "extra", "max_output_tokens", "reasoning", "temperature"}
_NO_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}


def write_request(request: NeutralRequest, blobs: Mapping[str, bytes]) -> Written:
    """The body; the model and the wish for a stream stand in the path. `blobs`: digest → bytes of the images and files that it names.

    Equal requests give equal bytes. Lone surrogates, which UTF-8 has no form for, become U+FFFD with a loss.
    """
    body, document, writer = spelled(lambda scrub: _Writer(request, blobs, scrub=scrub))
    locate = partial(_pointers, writer.places)
    return Written(body, document, locate, tuple(writer.losses), tuple(writer.sections), tuple(writer.tools))


def _pointers(places: Sequence[Place]) -> tuple[Pointer, ...]:
    """The pointers of the neutral messages and their parts, in order. A message that has a content for itself is that content."""
    found: list[Pointer] = []
    last = len(places) - 1
    for source, (content, first, shape) in enumerate(places):
        base = f"/contents/{content}"
        alone = first == 0 and (source == last or places[source + 1][0] != content)
        found.append(_point((base if alone else f"{base}/parts/{first}", source, None)))
        if shape is None:
            found.append(_point((f"{base}/parts/{first}", source, 0)))
            continue
        for below, part in shape:
            found.append(_point((base + below, source, part)))
    return tuple(found)


@lru_cache(TOOL_CALLS_PER_ANSWER_MAX)
def _output_shape(first: int) -> Shape:
    """The shape of a result that is one text, at this place of its content."""
    return ((f"/parts/{first}/functionResponse/response/output", 0),)


class _Writer(PartsWriting):
    """One pass over a request.

    `steps`: by the number of a content, its first call, with source and part. `turn`: the last content that is input and no results:
    where the current turn begins.
    """

    __slots__ = ("contents", "places", "request", "sections", "steps", "tools", "turn")

    def __init__(self, request: NeutralRequest, blobs: Mapping[str, bytes], *, scrub: bool) -> None:
        super().__init__(request.target.rules, blobs, scrub=scrub)
        self.request = request
        self.contents: list[dict[str, Any]] = []
        self.places: list[Place] = []
        self.steps: dict[int, tuple[dict[str, Any], int, int]] = {}
        self.turn = -1
        self.sections: list[str] = []
        self.tools: list[str] = []

    def document(self) -> dict[str, Any]:
        """The body as a tree: what is fixed first, then the history, which grows, then what changes from call to call."""
        request, params = self.request, self.request.target.model.params
        document: dict[str, Any] = {}
        head = "\n\n".join(section.text for section in request.system if section.text)
        if head:
            document["systemInstruction"] = {"parts": [{"text": self.text(head)}]}
        self.sections = ["/systemInstruction/parts/0/text" if section.text else "" for section in request.system]
        declarations = [self.tool(tool) for tool in request.tools] or self.declared_for_history()
        if declarations:
            document["tools"] = [{"functionDeclarations": declarations}]
            self.tools = [f"/tools/0/functionDeclarations/{index}" for index in range(len(request.tools))]
        self.write_contents()
        document["contents"] = self.contents
        config = tool_config(request, self.losses)
        if declarations and not request.tools:
            config = {"functionCallingConfig": {"mode": "NONE"}}
        if config is not None:
            document["toolConfig"] = config
        if generation := generation_config(params, self.rules, self.losses):
            document["generationConfig"] = generation
        self.losses.extend(WireLoss(f"params.{key}", "not_in_format") for key in params if key not in _READ_PARAMS)
        extra = params.get("extra") or {}
        self.losses.extend(WireLoss(f"params.extra.{key}", "protected") for key in extra if key in PROTECTED_KEYS)
        return merged(document, self.value({key: value for key, value in extra.items() if key not in PROTECTED_KEYS}))

    def write_contents(self) -> None:
        """All messages, then the signatures that the calls of the current turn need.

        One text, and one call or result without anything beside it, are what most messages are; each has its own way for the time that
        the general one takes.
        """
        contents, place, plain = self.contents, self.places.append, not self.scrub
        kind, number, content = "", -1, list[dict[str, Any]]()
        for source, (role, parts, _, called, _, failed) in enumerate(self.request.messages):
            if kind != _KINDS[role]:
                kind, number, content = _KINDS[role], number + 1, []
                contents.append({"role": "model" if kind == "model" else "user", "parts": content})
                if kind == "user":
                    self.turn = number
            first = len(content)
            if plain and len(parts) == 1:
                part = parts[0]
                if isinstance(part, Text) and part.opaque is None and kind != "results":
                    place((number, first, None))
                    content.append({"text": part.text})
                    continue
                if isinstance(part, Text) and not failed and called in self.asked:
                    place((number, first, _output_shape(first)))
                    content.append(answered(self.asked[called], {"output": part.text}))
                    continue
                if isinstance(part, ToolCall) and part.opaque is None:
                    self.asked = {}
                    place((number, first, None))
                    content.append(self.call(part, source, 0))
                    if number not in self.steps:
                        self.steps[number] = (content[-1], source, 0)
                    continue
            if kind == "results":
                shape = list[tuple[str, int]]()
                content.append(self.result(self.request.messages[source], source, f"/parts/{first}", shape))
            else:
                shape = self.write_parts(parts, source, number, content)
            place((number, first, shape))
        if self.rules.signs_calls:
            self.sign()

    def write_parts(self, parts: tuple[Part, ...], source: int, number: int, content: list[dict[str, Any]]) -> list[tuple[str, int]]:
        """Writes a message into its content, and tells where its parts stand there."""
        self.asked = {}
        shape: list[tuple[str, int]] = []
        for index, part in enumerate(parts):
            sent = self.call(part, source, index) if isinstance(part, ToolCall) else self.part(part, source, index)
            if sent is None:
                continue
            shape.append((f"/parts/{len(content)}", index))
            content.append(sent)
            if isinstance(part, ToolCall):
                self.steps.setdefault(number, (sent, source, index))
        if not shape:
            content.append({"text": ""})  # empty texts are tolerated, a content without parts is not
        return shape

    def sign(self) -> None:
        """Gives the first call of each step of the current turn the documented stand-in where its signature is not known (5.2).

        The other calls of a step stay unsigned, as Gemini leaves them, and so do those of earlier turns, which nobody checks.
        """
        for content in reversed(self.steps):
            if content < self.turn:
                break
            call, source, index = self.steps[content]
            if "thoughtSignature" not in call:
                call["thoughtSignature"] = SKIP_SIGNATURE
                self.losses.append(WireLoss("thought_signature", "stand_in_sent", source, index))

    def tool(self, tool: Tool) -> dict[str, Any]:
        declared: dict[str, Any] = {"name": self.text(tool.name)}
        if tool.description:
            declared["description"] = self.text(tool.description)
        declared["parametersJsonSchema"] = self.value(tool.parameters)
        return declared

    def declared_for_history(self) -> list[dict[str, Any]]:
        """Bare declarations of the tools that the history names, where the target asks for them and none is declared."""
        if not self.rules.history_needs_tools:
            return []
        called = {part.name: None for message in self.request.messages for part in message.parts if isinstance(part, ToolCall)}
        names = [name for name in called if self.named(name)]
        if names:
            self.losses.append(WireLoss("tools", "declared_for_history"))
        return [{"name": name, "parametersJsonSchema": _NO_SCHEMA} for name in names]
