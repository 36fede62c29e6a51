"""A neutral request to the bytes of a Chat Completions request, and the pointers of everything in it.

Drops, merges and reorders nothing. What the format cannot say becomes a stand-in text or is left out, with a loss.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from app.context.draft import NeutralRequest
from app.context.sources import Tool
from app.entries.parts import Media, Opaque, Part, Reasoning, Text, ToolCall
from app.formats.openai_chat.media import media_part, stand_in
from app.formats.openai_chat.rules import EMPTY_ARGUMENTS, ERROR_MARK, PROTECTED_KEYS
from app.formats.protocols import Pointer, WireLoss, Written
from app.formats.writing import Writing, spelled
from app.models.efforts import nearest_effort
from app.models.resolve import UPSTREAM_PLAYS

_point: Callable[[tuple[str, int, int | None]], Pointer] = partial(tuple.__new__, Pointer)
"""Makes a `Pointer` from its three fields at once: a third of the time of a named constructor, several hundred times a body."""

Shape = Sequence[tuple[str, int]]
"""Where the parts of one message stand: a pointer below the message's own, and the part's position in the neutral message."""

_ONE_TEXT: Shape = (("/content", 0),)

_UNNAMEABLE = re.compile(r"[^a-zA-Z0-9_-]")
_READ_PARAMS = UPSTREAM_PLAYS | {"dialect", "extra", "max_output_tokens", "reasoning", "temperature"}


def write_request(request: NeutralRequest, blobs: Mapping[str, bytes]) -> Written:
    """The body, always a streaming one. `blobs`: digest → bytes of the images and files that the messages name.

    Equal requests give equal bytes. Lone surrogates, which UTF-8 has no form for, become U+FFFD with a loss.
    """
    body, document, writer = spelled(lambda scrub: _Writer(request, blobs, scrub=scrub))
    locate = partial(_pointers, writer.head_messages, writer.shapes)
    return Written(body, document, locate, tuple(writer.losses), tuple(writer.sections), tuple(writer.tools))


def _pointers(head_messages: int, shapes: Sequence[Shape]) -> tuple[Pointer, ...]:
    """The pointers of the neutral messages and their parts, in order; `head_messages` stand before them in the body."""
    found: list[Pointer] = []
    for source, shape in enumerate(shapes):
        base = f"/messages/{source + head_messages}"
        found.append(_point((base, source, None)))
        for below, part in shape:
            found.append(_point((base + below, source, part)))
    return tuple(found)


class _Writer(Writing):
    """One pass over a request."""

    __slots__ = ("blobs", "head_messages", "named", "request", "rules", "sections", "shapes", "tools")

    def __init__(self, request: NeutralRequest, blobs: Mapping[str, bytes], *, scrub: bool) -> None:
        super().__init__(scrub=scrub)
        self.request = request
        self.rules = request.target.rules
        self.named = re.compile(self.rules.name_pattern).fullmatch
        self.blobs = blobs
        self.head_messages = 0
        self.shapes: list[Shape] = []
        self.sections: list[str] = []
        self.tools: list[str] = []

    def document(self) -> dict[str, Any]:
        """The body as a tree, keys in the order in which they are sent."""
        request, params = self.request, self.request.target.model.params
        document: dict[str, Any] = {"model": self.text(request.target.model.name), "messages": self.messages()}
        if request.tools:
            document["tools"] = [self.tool(tool) for tool in request.tools]
            self.tools = [f"/tools/{index}" for index in range(len(request.tools))]
        if (choice := self.tool_choice()) is not None:
            document["tool_choice"] = choice
        if params.get("max_output_tokens") is not None:
            document[self.rules.max_tokens_key] = params["max_output_tokens"]
        if params.get("temperature") is not None:
            document["temperature"] = params["temperature"]
        if (effort := self.effort((params.get("reasoning") or {}).get("effort"))) is not None:
            document["reasoning_effort"] = effort
        document["stream"] = True
        if self.rules.stream_usage:
            document["stream_options"] = {"include_usage": True}
        self.losses.extend(WireLoss(f"params.{key}", "not_in_format") for key in params if key not in _READ_PARAMS)
        for key, value in (params.get("extra") or {}).items():
            if key in PROTECTED_KEYS:
                self.losses.append(WireLoss(f"params.extra.{key}", "protected"))
            else:
                document[key] = self.value(value)
        return document

    def effort(self, wanted: str | None) -> str | None:
        """The word to send; another one than was wanted, and none at all, is a loss."""
        if wanted is None:
            return None
        sent = nearest_effort(wanted, self.rules.efforts) if self.rules.thinking == "effort" else None
        if sent != wanted:
            self.losses.append(WireLoss("reasoning_effort", "not_in_format" if sent is None else "nearest_sent"))
        return sent

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
            text = parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else None
            if role == "assistant":
                if text is not None and plain_answers:
                    place({"role": "assistant", "content": text})
                    shapes.append(_ONE_TEXT)
                else:
                    shape: list[tuple[str, int]] = []
                    place(self.assistant(source, parts, shape))
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

    def assistant(self, source: int, parts: tuple[Part, ...], shape: list[tuple[str, int]]) -> dict[str, Any]:
        """Text, calls with the exact argument text of the model, and reasoning only where the target takes it back."""
        texts: list[str] = []
        said: list[int] = []
        calls: list[dict[str, Any]] = []
        thoughts: list[str] = []
        for index, part in enumerate(parts):
            if isinstance(part, Text):
                texts.append(self.text(part.text, source, index))
                said.append(index)
            elif isinstance(part, ToolCall):
                shape.append((f"/tool_calls/{len(calls)}", index))
                calls.append(self.call(source, index, part))
            elif isinstance(part, Reasoning) and self.rules.reasoning_key:
                shape.append((f"/{self.rules.reasoning_key}", index))
                thoughts.append(self.text(part.text, source, index))
            elif isinstance(part, Media):
                self.losses.append(WireLoss(part.kind, "not_in_answers", source, index))
                texts.append(self.text(stand_in(part), source, index))
                said.append(index)
            else:
                self.unsaid(part, source, index)
        listed = len(texts) > 1 and self.rules.content_lists
        shape += [(f"/content/{number}" if listed else "/content", index) for number, index in enumerate(said)]
        sent: dict[str, Any] = {"role": "assistant"}
        sent["content"] = [{"type": "text", "text": text} for text in texts] if listed else "\n\n".join(texts) if texts else None if calls else ""
        if thoughts or self.rules.reasoning_always:
            sent[self.rules.reasoning_key or "reasoning_content"] = "".join(thoughts)
            if not thoughts:
                self.losses.append(WireLoss("reasoning", "empty_value_required", source))
        if calls:
            sent["tool_calls"] = calls
        return sent

    def call(self, source: int, index: int, call: ToolCall) -> dict[str, Any]:
        arguments = call.arguments
        if not arguments or arguments.isspace():
            arguments = EMPTY_ARGUMENTS
            self.losses.append(WireLoss("arguments", "empty_arguments", source, index))
        name = call.name
        if not self.named(name):  # from an import, or made up by a model
            name = _UNNAMEABLE.sub("_", name)[:64] or "unnamed"
            self.losses.append(WireLoss("tool_name", "not_taken", source, index))
        return {
            "id": self.text(call.tool_call_id, source, index),
            "type": "function",
            "function": {"name": name, "arguments": self.text(arguments, source, index)},
        }

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

    def tool_choice(self) -> str | dict[str, Any] | None:
        """How the tools may be chosen (0.2): a mode, a named tool, or a subset, which Chat nests one level deeper than others."""
        request = self.request
        if not request.tools or (request.tool_choice is None and request.allowed_tools is None):
            return None
        if not self.rules.tool_choice:
            self.losses.append(WireLoss("tool_choice", "not_enforced"))
            return None
        choice = request.tool_choice or "auto"
        if choice not in ("auto", "none", "required"):
            return _named(choice)
        if request.allowed_tools is None or choice == "none":
            return choice
        if not request.allowed_tools:
            return "none"
        if not self.rules.allowed_tools:
            self.losses.append(WireLoss("allowed_tools", "not_enforced"))
            return choice
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice, "tools": [_named(name) for name in request.allowed_tools]}}


def _named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}
