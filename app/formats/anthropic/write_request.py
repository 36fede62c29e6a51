"""A neutral request to the bytes of a Messages request, and the pointers of everything in it.

Messages of one role that follow one another are folded into one, and results into the user message behind their answer, as the provider
would fold them (wire-format notes 4.3, 12.7). Nothing is moved. What the format cannot say is left out or said in words, with a loss.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from app.context.draft import NeutralRequest
from app.context.sources import Tool
from app.entries import lossless
from app.entries.parts import Media, Opaque, Part, Reasoning, Text, ToolCall
from app.entries.producers import read_producer
from app.formats.anthropic.blocks import media_block, received, received_block, text_block
from app.formats.anthropic.input_schema import input_schema
from app.formats.anthropic.options import set_marks, thinking, tool_choice
from app.formats.anthropic.pointers import TEXT_RESULT, Place, pointers
from app.formats.anthropic.rules import DIALECT, PROTECTED_KEYS, SERVER_CALLS, THINKING_BLOCKS
from app.formats.protocols import WireLoss, Written
from app.formats.writing import Writing, spelled
from app.models.resolve import UPSTREAM_PLAYS

UNSAID = "[The answer ended here, before anything was said.]"
"""What stands behind thinking that nothing followed: no message of an assistant may end with a block of it."""

_UNNAMEABLE = re.compile(r"[^a-zA-Z0-9_-]")
_CALL_KEYS = frozenset({"type", "id", "name", "input"})
_READ_PARAMS = UPSTREAM_PLAYS | {"dialect", "extra", "max_output_tokens", "reasoning", "temperature"}


def write_request(request: NeutralRequest, blobs: Mapping[str, bytes]) -> Written:
    """The body, always a streaming one. `blobs`: digest → bytes of the images and files that the messages name.

    Equal requests give equal bytes. Lone surrogates, which UTF-8 has no form for, become U+FFFD with a loss; not so in blocks that go
    back as received.
    """
    body, document, writer = spelled(lambda scrub: _Writer(request, blobs, scrub=scrub))
    return Written(body, document, partial(pointers, writer.places), tuple(writer.losses), tuple(writer.sections), tuple(writer.tools))


class _Writer(Writing):
    """One pass over a request."""

    __slots__ = ("blobs", "named", "places", "request", "rules", "sections", "tools")

    def __init__(self, request: NeutralRequest, blobs: Mapping[str, bytes], *, scrub: bool) -> None:
        super().__init__(scrub=scrub)
        self.request = request
        self.rules = request.target.rules
        self.named = re.compile(self.rules.name_pattern).fullmatch
        self.blobs = blobs
        self.places: list[Place] = []
        self.sections: list[str] = []
        self.tools: list[str] = []

    def document(self) -> dict[str, Any]:
        """The body as a tree, keys in the order in which they are sent: what the cache compares first comes first, the messages last."""
        request, target, params = self.request, self.request.target, self.request.target.model.params
        cap = params.get("max_output_tokens")
        cap = target.limits.max_output_tokens if cap is None else cap
        choice, losses = tool_choice(request, self.rules)
        self.losses.extend(losses)
        forced = choice is not None and choice["type"] in ("any", "tool")
        wanted = (params.get("reasoning") or {}).get("effort")
        messages = self.messages(self.final_from("budget_tokens" in thinking(self.rules, wanted, cap, forced).keys.get("thinking", ())))
        asked = thinking(self.rules, wanted, cap, forced, messages)
        if asked.why is not None:
            self.losses.append(WireLoss("reasoning_effort", asked.why))
        document: dict[str, Any] = {"model": self.text(target.model.name), "max_tokens": cap, **asked.keys}
        if params.get("temperature") is not None:
            if self.rules.temperature and not asked.keys:
                document["temperature"] = params["temperature"]
            else:
                self.losses.append(WireLoss("params.temperature", "not_taken"))
        declared = [self.tool(tool) for tool in request.tools]
        self.tools = [f"/tools/{index}" for index in range(len(declared))]
        if not declared and self.rules.history_needs_tools and (used := self.used_tools()):
            declared, choice = [{"name": name, "input_schema": {"type": "object"}} for name in used], {"type": "none"}
            self.losses.append(WireLoss("tools", "declared_for_history"))
        if declared:
            document["tools"] = declared
        if choice is not None:
            document["tool_choice"] = choice
        if system := self.system():
            document["system"] = system
        document["messages"] = messages
        document["stream"] = True
        extra = params.get("extra") or {}
        marks = self.rules.cache_breakpoints - ("cache_control" in extra)  # the automatic mark is one of them
        set_marks(document, max(marks, 0))
        self.losses.extend(WireLoss(f"params.{key}", "not_in_format") for key in params if key not in _READ_PARAMS)
        for key, value in extra.items():
            if key in PROTECTED_KEYS:
                self.losses.append(WireLoss(f"params.extra.{key}", "protected"))
            else:
                document[key] = self.value(value)
        return document

    def system(self) -> list[dict[str, Any]]:
        """A text block for each section that says something."""
        found: list[dict[str, Any]] = []
        for section in self.request.system:
            if section.text.strip():
                self.sections.append(f"/system/{len(found)}")
                found.append(text_block(self.text(section.text)))
            else:
                self.sections.append("")
        return found

    def messages(self, final_from: int) -> list[dict[str, Any]]:
        """The folded messages; `places` says where each neutral one and its parts came to stand. `final_from`: as of that method."""
        found: list[dict[str, Any]] = []
        content: list[dict[str, Any]] = []
        place, plain = self.places.append, not self.scrub
        role_before, at = "", -1
        for source, (role, parts, _, called, _, failed) in enumerate(self.request.messages):
            wire_role = "assistant" if role == "assistant" else "user"
            if wire_role != role_before:
                if role_before == "assistant" and content[-1]["type"] in THINKING_BLOCKS:
                    self.close(content, source - 1)
                role_before, content, at = wire_role, [], at + 1
                found.append({"role": wire_role, "content": content})
            first = len(content)
            only = parts[0] if plain and len(parts) == 1 else None
            if type(only) is Text and only.opaque is None:  # what most messages are
                if role == "tool":
                    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": called, "content": only.text}
                    if failed:
                        block["is_error"] = True
                    place((at, first, TEXT_RESULT))
                else:
                    block = {"type": "text", "text": only.text}
                    place((at, first, None))
                content.append(block)
                continue
            shape: list[tuple[str, int]] = []
            if role == "tool":
                content.append(self.result(source, parts, called or "", failed, shape, first))
            else:
                self.said(source, parts, content, shape, source >= final_from)
            place((at, first, shape) if len(content) > first else (-1, 0, shape))
            if not content:  # nothing of it can be said: its neighbours are folded
                found.pop()
                role_before, at = found[-1]["role"] if found else "", at - 1
                content = found[-1]["content"] if found else content
        if role_before == "assistant" and content[-1]["type"] == "text":
            content[-1] = {**content[-1], "text": content[-1]["text"].rstrip()}
        return found

    def said(self, source: int, parts: tuple[Part, ...], content: list[dict[str, Any]], shape: list[tuple[str, int]], final: bool) -> None:
        """Appends the blocks of an input or an answer, in the order of its parts."""
        for index, part in enumerate(parts):
            if isinstance(part, Text):
                block = received_block(part.opaque) if part.opaque is not None else None
                block = block or text_block(self.text(part.text, source, index))
            elif isinstance(part, ToolCall):
                block = self.call(source, index, part)
            elif isinstance(part, Media):
                block = self.media(part, source, index)
            elif isinstance(part, Reasoning) and final:
                self.losses.append(WireLoss("reasoning", "not_in_final_answer", source, index))
                continue
            else:
                found = received_block(part.opaque if isinstance(part, Reasoning) else self.own(part))
                if found is None:
                    self.losses.append(WireLoss("opaque" if isinstance(part, Opaque) else "reasoning", "not_in_format", source, index))
                    continue
                block = found
            shape.append((f"/content/{len(content)}", index))
            content.append(block)

    def call(self, source: int, index: int, call: ToolCall) -> dict[str, Any]:
        """A call with its input as an object. Text that spells none is wrapped, because the result needs its partner (0.5)."""
        arguments: Any = {}
        if call.arguments and not call.arguments.isspace():
            try:
                arguments = lossless.loads(call.arguments)
            except lossless.InvalidJson:
                arguments = None
            if not isinstance(arguments, dict):
                arguments = {"rawInvalidInput": self.text(call.arguments, source, index)}
                self.losses.append(WireLoss("arguments", "no_object", source, index))
            arguments = self.value(arguments, source, index)
        name = self.fitted(call.name)
        if name != call.name:  # from an import, or made up by a model
            self.losses.append(WireLoss("tool_name", "not_taken", source, index))
        block = {"type": "tool_use", "id": self.text(call.tool_call_id, source, index), "name": name, "input": arguments}
        return block | {key: value for key, value in received(call.opaque).items() if key not in _CALL_KEYS}

    def result(self, source: int, parts: tuple[Part, ...], called: str, failed: bool, shape: list[tuple[str, int]], number: int) -> dict[str, Any]:
        """A tool result: its text as a string, several parts as blocks, no content where it has none."""
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": self.text(called, source)}
        content: list[dict[str, Any]] = []
        for index, part in enumerate(parts):
            if isinstance(part, Text):
                content.append(text_block(self.text(part.text, source, index)))
            elif isinstance(part, Media):
                content.append(self.media(part, source, index))
            elif isinstance(part, Opaque) and (found := received_block(self.own(part))) is not None:
                content.append(found)
            else:
                self.losses.append(WireLoss("opaque" if isinstance(part, Opaque) else "reasoning", "not_in_format", source, index))
                continue
            shape.append((f"/content/{number}/content/{len(content) - 1}", index))
        if len(content) == 1 and content[0]["type"] == "text":
            block["content"] = content[0]["text"]
            shape[:] = [(f"/content/{number}/content", index) for _, index in shape]
        elif content:
            block["content"] = content
        if failed:
            block["is_error"] = True
        return block

    def media(self, media: Media, source: int, index: int) -> dict[str, Any]:
        block, why = media_block(media, self.blobs)
        if why is not None:
            self.losses.append(WireLoss(media.kind, why, source, index))
        found: dict[str, Any] = self.value(block, source, index)
        return found

    def own(self, part: Opaque) -> str | None:
        """The block of a part that this very target made; None for another, which an import may leave in an input or a result."""
        made_by = read_producer(part.producer)
        mine = part.format == DIALECT and made_by is not None and made_by._replace(prefix="") == self.request.target.producer
        return part.block if mine else None

    def close(self, content: list[dict[str, Any]], source: int) -> None:
        """Puts a word behind thinking that ends an answer: it cannot stand there."""
        content.append(text_block(UNSAID))
        self.losses.append(WireLoss("reasoning", "text_added", source))

    def final_from(self, budget: bool) -> int:
        """From which neutral message on the answer stands that the model is to go on with: there is no thinking in that (4.3).

        One that the provider paused goes back as it is, where it is gone on with as it was begun: `budget` says whether thinking tokens
        are given, without which a model that takes them has no use for thinking.
        """
        messages = self.request.messages
        first = len(messages)
        while first and messages[first - 1].role == "assistant":
            first -= 1
        parts = [part for message in messages[first:] for part in message.parts]
        paused = any(received(part.block).get("type") in SERVER_CALLS for part in parts if isinstance(part, Opaque))
        if not paused or isinstance(parts[-1], Reasoning):
            return first
        as_begun = isinstance(parts[0], Reasoning) if budget else self.rules.thinking == "adaptive"
        return len(messages) if as_begun else first

    def used_tools(self) -> list[str]:
        """The names that calls of the history use, each once."""
        calls = (part.name for message in self.request.messages for part in message.parts if isinstance(part, ToolCall))
        return list(dict.fromkeys(self.fitted(name) for name in calls))

    def fitted(self, name: str) -> str:
        return name if self.named(name) else _UNNAMEABLE.sub("_", name)[:64] or "unnamed"

    def tool(self, tool: Tool) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.text(tool.name)}
        if tool.description:
            found["description"] = self.text(tool.description)
        schema, less = input_schema(tool.parameters)
        if less:
            self.losses.append(WireLoss("tool_schema", "not_in_format"))
        found["input_schema"] = self.value(schema)
        return found
