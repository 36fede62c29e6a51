"""A neutral request to the bytes of a Responses request, and the pointers of everything in it.

Each call is whole in itself: nothing is stored, nothing is referred to, and reasoning is asked for in the encrypted form that goes back
with the next one (wire-format notes 3.1). Reorders nothing; what the format cannot say is left out, with a loss.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from app.context.draft import NeutralRequest
from app.context.sources import Tool
from app.entries.parts import Media, Opaque, Part, Reasoning, Text
from app.formats.openai_responses.answers import Answers, Shape
from app.formats.openai_responses.media import media_part
from app.formats.openai_responses.rules import ENCRYPTED_REASONING, ERROR_MARK, OUTPUT_TOKENS_MIN, PROTECTED_KEYS
from app.formats.protocols import Pointer, WireLoss, Written
from app.formats.writing import Writing, spelled
from app.models.efforts import nearest_effort
from app.models.resolve import UPSTREAM_PLAYS

_point: Callable[[tuple[str, int, int | None]], Pointer] = partial(tuple.__new__, Pointer)
"""Makes a `Pointer` from its three fields at once: a third of the time of a named constructor, several hundred times a body."""

_ONE_TEXT: Shape = ((0, "/content", 0),)
_ONE_RESULT: Shape = ((0, "/output", 0),)

_READ_PARAMS = UPSTREAM_PLAYS | {"dialect", "extra", "max_output_tokens", "reasoning", "temperature"}


def write_request(request: NeutralRequest, blobs: Mapping[str, bytes]) -> Written:
    """The body, always a streaming one that stores nothing. `blobs`: digest → bytes of the images and files that the messages name.

    Equal requests give equal bytes. Lone surrogates, which UTF-8 has no form for, become U+FFFD with a loss.
    """
    body, document, writer = spelled(lambda scrub: _Writer(request, blobs, scrub=scrub))
    locate = partial(_pointers, writer.starts, writer.shapes)
    return Written(body, document, locate, tuple(writer.losses), tuple(writer.sections), tuple(writer.tools))


def _pointers(starts: Sequence[int], shapes: Sequence[Shape]) -> tuple[Pointer, ...]:
    """The pointers of the neutral messages and their parts, in order. A message of which no item was left has none."""
    found: list[Pointer] = []
    for source, (start, shape) in enumerate(zip(starts, shapes, strict=False)):
        if start < starts[source + 1]:
            found.append(_point((f"/input/{start}", source, None)))
        for item, below, part in shape:
            found.append(_point((f"/input/{start + item}{below}", source, part)))
    return tuple(found)


class _Writer(Writing):
    """One pass over a request. `starts[i]` is the first item of message i; one more says where the last message ends."""

    __slots__ = ("blobs", "request", "rules", "sections", "shapes", "starts", "tools")

    def __init__(self, request: NeutralRequest, blobs: Mapping[str, bytes], *, scrub: bool) -> None:
        super().__init__(scrub=scrub)
        self.request = request
        self.rules = request.target.rules
        self.blobs = blobs
        self.starts: list[int] = []
        self.shapes: list[Shape] = []
        self.sections: list[str] = []
        self.tools: list[str] = []

    def document(self) -> dict[str, Any]:
        """The body as a tree, keys in the order in which they are sent: what stays the same from call to call stands first."""
        request = self.request
        document: dict[str, Any] = {"model": self.text(request.target.model.name)}
        instructions = "\n\n".join(section.text for section in request.system if section.text)
        if instructions:
            document["instructions"] = self.text(instructions)
        self.sections = ["/instructions" if section.text else "" for section in request.system]
        if request.tools:
            document["tools"] = [self.tool(tool) for tool in request.tools]
            self.tools = [f"/tools/{index}" for index in range(len(request.tools))]
        document["input"] = self.input()
        if (choice := self.tool_choice()) is not None:
            document["tool_choice"] = choice
        self.params(document)
        return document

    def params(self, document: dict[str, Any]) -> None:
        """Adds the parameters; `extra` comes last, its objects laid over ours and its list of `include` added to it."""
        params, rules = self.request.target.model.params, self.rules
        if (limit := params.get("max_output_tokens")) is not None:
            document["max_output_tokens"] = max(limit, OUTPUT_TOKENS_MIN)
            if limit < OUTPUT_TOKENS_MIN:
                self.losses.append(WireLoss("params.max_output_tokens", "least_sent"))
        effort = self.effort((params.get("reasoning") or {}).get("effort"))
        if effort is not None:
            document["reasoning"] = {"effort": effort}
        if params.get("temperature") is not None:
            if rules.temperature and (not rules.default_effort or (effort or rules.default_effort) == "none"):
                document["temperature"] = params["temperature"]
            else:
                self.losses.append(WireLoss("params.temperature", "not_taken"))
        if self.request.cache_key is not None:
            document["prompt_cache_key"] = self.request.cache_key
        if rules.provider_blocks and rules.thinking:
            document["include"] = [ENCRYPTED_REASONING]
        document["store"] = False
        document["stream"] = True
        self.losses.extend(WireLoss(f"params.{key}", "not_in_format") for key in params if key not in _READ_PARAMS)
        for key, value in (params.get("extra") or {}).items():
            if key in PROTECTED_KEYS:
                self.losses.append(WireLoss(f"params.extra.{key}", "protected"))
            else:
                document[key] = _merged(document.get(key), self.value(value))

    def effort(self, wanted: str | None) -> str | None:
        """The word to send; another one than was wanted, and none at all, is a loss."""
        if wanted is None:
            return None
        sent = nearest_effort(wanted, self.rules.efforts) if self.rules.thinking == "effort" else None
        if sent != wanted:
            self.losses.append(WireLoss("reasoning_effort", "not_in_format" if sent is None else "nearest_sent"))
        return sent

    def input(self) -> list[dict[str, Any]]:
        """The items of each neutral message, in order: one of an input or a result, any number of an answer."""
        found: list[dict[str, Any]] = []
        answers = Answers(self, self.rules, self.request.messages, found)
        shapes, starts, place, plain = self.shapes, self.starts, found.append, not self.scrub
        for source, (role, parts, _, called, _, failed) in enumerate(self.request.messages):
            starts.append(len(found))
            # One text is what most messages are; each has its own way only for the time that the general ones take.
            alone = parts[0] if len(parts) == 1 and plain else None
            if isinstance(alone, Text) and alone.opaque is None:
                if role == "tool":
                    place({"type": "function_call_output", "call_id": called or "", "output": ERROR_MARK + alone.text if failed else alone.text})
                    shapes.append(_ONE_RESULT)
                else:
                    place({"role": "assistant" if role == "assistant" else "user", "content": alone.text})
                    shapes.append(_ONE_TEXT)
            elif role == "assistant":
                shapes.append(answers.write(source, parts))
            elif role == "tool":
                shape: list[tuple[int, str, int]] = []
                output = self.said(source, parts, "/output", shape, ERROR_MARK if failed else "")
                place({"type": "function_call_output", "call_id": self.text(called or "", source), "output": output})
                shapes.append(shape)
            else:
                shape = []
                place({"role": "user", "content": self.said(source, parts, "/content", shape)})
                shapes.append(shape)
        starts.append(len(found))
        return found

    def said(self, source: int, parts: tuple[Part, ...], below: str, shape: list[tuple[int, str, int]], mark: str = "") -> str | list[dict[str, Any]]:
        """What was put in or came back. A single text is sent as a string, anything else as a list of parts in order.

        `mark` stands in front of the first text, in a text of its own where there is none.
        """
        if len(parts) == 1 and isinstance(parts[0], Text):
            shape.append((0, below, 0))
            return mark + self.text(parts[0].text, source, 0)
        content: list[dict[str, Any]] = []
        if mark and not any(isinstance(part, Text) for part in parts):
            content.append({"type": "input_text", "text": mark})
            mark = ""
        for index, part in enumerate(parts):
            if isinstance(part, Text):
                sent: dict[str, Any] = {"type": "input_text", "text": mark + self.text(part.text, source, index)}
                mark = ""
            elif isinstance(part, Media):
                sent, why = media_part(part, self.blobs)
                if why is not None:
                    self.losses.append(WireLoss(part.kind, why, source, index))
                sent = self.value(sent, source, index)
            else:
                what = "opaque" if isinstance(part, Opaque) else "reasoning" if isinstance(part, Reasoning) else "tool_call"
                self.losses.append(WireLoss(what, "not_in_format", source, index))
                continue
            shape.append((0, f"{below}/{len(content)}", index))
            content.append(sent)
        return content or ""

    def tool(self, tool: Tool) -> dict[str, Any]:
        """A declaration. `strict` is always said, as false: left out, the endpoint may bind a schema that was not written for it (3.1)."""
        found: dict[str, Any] = {"type": "function", "name": self.text(tool.name)}
        if tool.description:
            found["description"] = self.text(tool.description)
        found["parameters"] = self.value(tool.parameters)
        found["strict"] = False
        return found

    def tool_choice(self) -> str | dict[str, Any] | None:
        """How the tools may be chosen (0.2): a mode, a named tool, or a subset in the flat form, the mode folded in (S4-38, X-32).

        A tool of the subset that is not declared is left out of it, since the server refuses a name that it does not know.
        """
        request, rules = self.request, self.rules
        if not request.tools or (request.tool_choice is None and request.allowed_tools is None):
            return None
        if not rules.tool_choice:
            self.losses.append(WireLoss("tool_choice", "not_enforced"))
            return None
        choice, allowed = request.tool_choice or "auto", request.allowed_tools
        if allowed is not None:
            declared = {tool.name for tool in request.tools}
            allowed = tuple([name for name in allowed if name in declared])
        if choice not in ("auto", "none") and not rules.forced_choice:
            choice = "auto"
            self.losses.append(WireLoss("tool_choice", "not_enforced"))
        if choice not in ("auto", "none", "required"):
            if allowed is None or choice in allowed:
                return _named(choice)
            choice = "auto"
            self.losses.append(WireLoss("tool_choice", "not_allowed"))
        if allowed is None or choice == "none":
            return choice
        if not allowed:
            return "none"
        if not rules.allowed_tools:
            self.losses.append(WireLoss("allowed_tools", "not_enforced"))
            return choice
        return {"type": "allowed_tools", "mode": choice, "tools": [_named(name) for name in allowed]}


def _named(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name}


def _merged(ours: Any, given: Any) -> Any:
    """A key of `extra` over what we send under it."""
    if isinstance(ours, dict) and isinstance(given, Mapping):
        return ours | dict(given)
    if isinstance(ours, list) and isinstance(given, (list, tuple)):
        return ours + [item for item in given if item not in ours]
    return given
