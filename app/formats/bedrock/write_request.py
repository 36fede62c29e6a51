"""A neutral request to the bytes of a Converse request, and the pointers of everything in it.

Drops and reorders nothing. Messages of one role that follow one another are folded into one, since roles have to alternate (6.2);
results go into the user message behind their calls. The model stands in the path and not in the body.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from app.context.draft import NeutralMessage, NeutralRequest
from app.entries.parts import Text
from app.formats.bedrock.blocks import Block, Blocks
from app.formats.bedrock.options import inference, read_reasoning, read_tools
from app.formats.bedrock.rules import BLANK, PROTECTED_KEYS
from app.formats.protocols import Pointer, WireLoss, Written
from app.formats.writing import spelled
from app.models.resolve import UPSTREAM_PLAYS

_READ_PARAMS = UPSTREAM_PLAYS | {"dialect", "extra", "max_output_tokens", "reasoning", "temperature"}
_CACHE_POINT = {"cachePoint": {"type": "default"}}


class Place(NamedTuple):
    """Where a neutral message stands: wire message, its first block there, and of each part the block behind that one and what is below it."""

    message: int
    first: int
    parts: Sequence[tuple[int, str, int]]


_ONE_BLOCK = ((0, "", 0),)
_ONE_RESULT = ((0, "/toolResult/content/0", 0),)
_place: Callable[[tuple[int, int, Sequence[tuple[int, str, int]]]], Place] = partial(tuple.__new__, Place)
_point: Callable[[tuple[str, int, int | None]], Pointer] = partial(tuple.__new__, Pointer)
"""Both make their tuple from its fields at once: a third of the time of a named constructor, several hundred times a body."""


def write_request(request: NeutralRequest, blobs: Mapping[str, bytes]) -> Written:
    """The body, of a streaming or a plain call alike. `blobs`: digest → bytes of the images and files that the messages name.

    Equal requests give equal bytes. Lone surrogates, which UTF-8 has no form for, become U+FFFD with a loss.
    """
    body, document, writer = spelled(lambda scrub: _Writer(request, blobs, scrub=scrub))
    locate = partial(_pointers, writer.places, writer.folded, writer.cached_at)
    return Written(body, document, locate, tuple(writer.losses), tuple(writer.sections), tuple(writer.tools))


def _pointers(places: Sequence[Place], folded: Sequence[int], cached_at: tuple[int, int] | None) -> tuple[Pointer, ...]:
    """The pointers of the neutral messages and their parts, in order. `folded`: how many neutral messages each wire message holds;
    `cached_at`: message and block of the cache mark, behind which every block is one further."""
    found: list[Pointer] = []
    marked, mark = (-1, 0) if cached_at is None else cached_at
    for source, (message, first, parts) in enumerate(places):
        base = f"/messages/{message}"
        further = message == marked
        at = first + (further and first >= mark)
        content = f"{base}/content/"
        found.append(_point((base if folded[message] == 1 else f"{content}{at}", source, None)))
        if parts is _ONE_BLOCK:
            found.append(_point((f"{content}{at}", source, 0)))
            continue
        for behind, below, part in parts:
            at = first + behind
            found.append(_point((f"{content}{at + (further and at >= mark)}{below}", source, part)))
    return tuple(found)


class _Writer(Blocks):
    """One pass over a request."""

    __slots__ = ("cached_at", "folded", "places", "request", "sections", "tools")

    def __init__(self, request: NeutralRequest, blobs: Mapping[str, bytes], *, scrub: bool) -> None:
        super().__init__(request.target.rules, blobs, scrub=scrub)
        self.request = request
        self.places: list[Place] = []
        self.folded: list[int] = []
        self.cached_at: tuple[int, int] | None = None
        self.sections: list[str] = []
        self.tools: list[str] = []

    def document(self) -> dict[str, Any]:
        """The body as a tree, keys in the order in which they are sent."""
        params, rules = self.request.target.model.params, self.rules
        messages = self.messages()
        self.mark_messages(messages)
        document: dict[str, Any] = {"messages": messages}
        if system := self.system():
            document["system"] = system
        cap = params.get("max_output_tokens") or self.request.target.limits.max_output_tokens
        reasoning = read_reasoning(params, rules, cap, messages, self.losses)
        if config := inference(params, rules, reasoning, cap, self.losses):
            document["inferenceConfig"] = config
        additional = dict(reasoning.fields)
        # A call cannot be forced while a budget is thought (4.1).
        tools = read_tools(self.request, self.used, reasoning.budget_tokens is None, self.losses)
        if tools.specs:
            document["toolConfig"] = self.tool_config(tools.specs, tools.choice)
        if tools.native is not None:
            additional["tool_choice"] = dict(tools.native)
        self.tools = [f"/toolConfig/tools/{index}" if tools.specs else "" for index in range(len(self.request.tools))]
        if additional:
            document["additionalModelRequestFields"] = additional
        self.losses.extend(WireLoss(f"params.{key}", "not_in_format") for key in params if key not in _READ_PARAMS)
        self.extra(document, params.get("extra") or {})
        return document

    def extra(self, document: dict[str, Any], extra: Mapping[str, Any]) -> None:
        """The operator's own keys, last: objects are laid over ours key by key, anything else replaces what is there."""
        for key, value in extra.items():
            if key in PROTECTED_KEYS:
                self.losses.append(WireLoss(f"params.extra.{key}", "protected"))
                continue
            there, given = document.get(key), self.value(value)
            document[key] = {**there, **given} if isinstance(there, dict) and isinstance(given, Mapping) else given

    def messages(self) -> list[dict[str, Any]]:
        """The wire messages; `places` says where each neutral one stands."""
        found: list[dict[str, Any]] = []
        content: list[Block] = []
        places, folded, plain = self.places.append, self.folded, not self.scrub
        role, number = "", -1
        for source, message in enumerate(self.request.messages):
            said, parts, _, _, _, _ = message
            wire_role = "assistant" if said == "assistant" else "user"
            if wire_role == role:
                folded[number] += 1
                first = len(content)
            else:
                if self.media:
                    self.close(content)
                role, content, number, first = wire_role, [], number + 1, 0
                found.append({"role": role, "content": content})
                folded.append(1)
            if plain and len(parts) == 1 and said != "tool":
                part = parts[0]
                # One text is what most messages are; it has its own way only for the time that the general one takes.
                if type(part) is Text and part.opaque is None and (text := part.text) and not text.isspace():
                    content.append({"text": text})
                    places(_place((number, first, _ONE_BLOCK)))
                    continue
            places(_place((number, first, self.blocks(source, message, content))))
        if self.media:
            self.close(content)
        if role == "assistant":
            self.trim(content, len(self.request.messages) - 1)
        return found

    def blocks(self, source: int, message: NeutralMessage, content: list[Block]) -> Sequence[tuple[int, str, int]]:
        """Puts a message's blocks behind the others; returns which part stands where."""
        if message.role == "tool":
            one = message.parts[0] if len(message.parts) == 1 else None
            if type(one) is Text and not self.scrub and not message.is_error and one.text and not one.text.isspace():
                content.append({"toolResult": {"toolUseId": message.tool_call_id or "", "content": [{"text": one.text}]}})
                return _ONE_RESULT
            places: list[int | None] = []
            content.append(self.result(message.tool_call_id or "", message.parts, message.is_error, source, places))
            return [(0, f"/toolResult/content/{number}", part) for number, part in enumerate(places) if part is not None]
        found: list[tuple[int, str, int]] = []
        for index, part in enumerate(message.parts):
            block = self.block(part, source, index)
            if block is not None:
                found.append((len(found), "", index))
                content.append(block)
        if not found:
            self.losses.append(WireLoss("message", "empty", source))
            content.append({"text": BLANK})
        return found

    def close(self, content: list[Block]) -> None:
        """The end of a wire message with media: a document needs a text beside it (6.2), and the next message counts its own."""
        if any("document" in block for block in content) and not any("text" in block for block in content):
            self.losses.append(WireLoss("file", "text_required", len(self.places) - 1))
            content.append({"text": BLANK})
        self.media = {}

    def trim(self, content: list[Block], source: int) -> None:
        """Text that ends a request may not end in blanks: the model would go on from there (6.2)."""
        text = content[-1].get("text")
        if text is not None and text != text.rstrip():
            content[-1] = {"text": text.rstrip()}
            self.losses.append(WireLoss("text", "trailing_blanks", source))

    def mark_messages(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """A cache mark behind the last input, before the documents that it may end with: right behind one it may not stand (6.2)."""
        last = next((index for index in range(len(messages) - 1, -1, -1) if messages[index]["role"] == "user"), None)
        if last is None or self.rules.cache_breakpoints < 1:
            return
        content = messages[last]["content"]
        at = len(content)
        while at and "document" in content[at - 1]:
            at -= 1
        if at:
            content.insert(at, _CACHE_POINT)
            self.cached_at = (last, at)

    def system(self) -> list[Block]:
        """One text of all sections, joined by a blank line, and a cache mark behind it."""
        head = "\n\n".join(section.text for section in self.request.system if section.text)
        blank = not head or head.isspace()
        self.sections = ["/system/0/text" if section.text and not blank else "" for section in self.request.system]
        if blank:
            return []
        return [{"text": self.text(head)}, _CACHE_POINT] if self.rules.cache_breakpoints >= 2 else [{"text": self.text(head)}]

    def tool_config(self, specs: Sequence[tuple[str, str, Mapping[str, Any]]], choice: Mapping[str, Any] | None) -> dict[str, Any]:
        tools: list[dict[str, Any]] = []
        for name, description, schema in specs:
            spec: dict[str, Any] = {"name": self.text(name)}
            if description:
                spec["description"] = self.text(description)
            spec["inputSchema"] = {"json": self.value(schema)}
            tools.append({"toolSpec": spec})
        if self.rules.cache_breakpoints >= 3:
            tools.append(_CACHE_POINT)
        return {"tools": tools} if choice is None else {"tools": tools, "toolChoice": dict(choice)}
