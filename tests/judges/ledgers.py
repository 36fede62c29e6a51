"""Hypothesis strategies: any ledger, any agent, any choice of tools, for any model, as a compile for one dialect may be given them.

Beside the hostile acts of `tests/strategies.py` there are whole answers of all five providers with the blocks that they minted, media
of many types in inputs and results, and tools whose schemas are not the simplest.
"""

import base64
from dataclasses import dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from typing import Any

from hypothesis import strategies as st

from app.context.compile import compile_context
from app.context.draft import NeutralRequest
from app.context.sources import AgentRevision, Overrides, Sources
from app.entries.messages import Answer, Body, Message, ToolResult
from app.entries.parts import Blob, Media, Opaque, Reasoning, Text, ToolCall
from app.entries.pictures import blob_of
from app.formats.protocols import Written
from app.formats.registry import FORMATS
from app.models.efforts import EFFORTS
from app.models.resolve import ModelChoice, Target
from tests.features import featured, run_flags
from tests.judges.minted import minted
from tests.judges.targets import LIMITS, MODELS
from tests.strategies import HOSTILE, SYSTEM, Ledger, agent, call_ids, checkpointed, ephemerals, flags, resolved, statuses, texts, tokens

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")


def png(width: int, height: int) -> bytes:
    """The head of a picture of that size, which is as far as anybody looks."""
    return PNG[:16] + width.to_bytes(4, "big") + height.to_bytes(4, "big") + PNG[24:]


FILES: tuple[tuple[str, bytes], ...] = (
    ("image/png", PNG),
    ("image/png", png(3000, 20)),
    ("image/png", png(20, 9000)),
    ("image/png", GIF + b"called by another name"),
    ("image/gif", GIF),
    ("image/jpeg", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00"),
    ("image/webp", b"RIFF\x1a\x00\x00\x00WEBPVP8L"),
    ("image/heic", b"\x00\x00\x00\x18ftypheic"),
    ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
    ("image/tiff", b"II*\x00"),
    ("application/pdf", b"%PDF-1.4\n"),
    ("text/plain", "Größe: 3 m²\n".encode()),
    ("text/csv", b"a,b\n1,2\n"),
    ("text/markdown", b"# One\n"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", b"PK\x03\x04"),
    ("application/zip", b"PK\x03\x04"),
    ("application/octet-stream", b"\x00\x01"),
    ("audio/wav", b"RIFF\x24\x00\x00\x00WAVEfmt "),
    ("audio/mpeg", b"\xff\xfb\x90\x00"),
    ("video/mp4", b"\x00\x00\x00\x18ftypmp42"),
)


def digest_of(content: bytes) -> str:
    return "sha256:" + sha256(content).hexdigest()


BLOBS = {digest_of(content): content for _, content in FILES}
_MEDIA = [(blob_of(digest_of(content), media_type, content), media_type.startswith("image/")) for media_type, content in FILES]
_NAMES = st.sampled_from([None, "report.pdf", "my file (1).png", "../../etc/passwd", "Ünï çødé.txt", "x" * 300, "no\nline", "", " "])

media = st.one_of(
    st.builds(lambda row, name: Media("image" if row[1] else "file", row[0], filename=name), st.sampled_from(_MEDIA), _NAMES),
    st.builds(Media, st.just("image"), st.sampled_from([_MEDIA[0][0], None]), st.just("https://example.test/a.png")),
    st.builds(Media, st.just("file"), st.none(), st.just("https://example.test/a.pdf"), _NAMES),
    st.builds(Media, st.just("image"), st.just(Blob("sha256:" + "a" * 64, "image/png", 1 << 25, 9000, 9000)), st.none()),
)
strangers = st.sampled_from(
    [
        "openai-responses/elsewhere/gpt-5.6-sol",
        "gemini/gemini/gemini-1.0",
        "anthropic-messages/import/claude-opus-5",
        "m",
        "",
        "a/b",
        "bedrock-converse",
    ]
)
arguments = st.sampled_from(
    ["{}", '{"a":1}', "not json", "", " ", "[1]", "null", '{"a":', '{"a":1e400,"b":1.0}', '{"a":12345678901234567890123}', '"x"']
)
calls = st.builds(
    ToolCall, call_ids, st.sampled_from(["lookup", "gone", "never declared", "9lives", "functions.Bash", "", "ü" * 70, "x" * 200]), arguments
)
hostile_parts = st.one_of(
    texts.map(Text),
    st.builds(Reasoning, texts),
    st.builds(Reasoning, texts, st.sampled_from(['{"type":"thinking","thinking":"x","signature":"s"}', "{}", "not json"]), strangers),
    st.builds(lambda text, by: Text(text, None, '{"thoughtSignature":"c2ln"}', by), texts, strangers),
    st.builds(lambda call, by: replace(call, opaque='{"functionCall":{"id":"x"},"thoughtSignature":"c2ln"}', producer=by), calls, strangers),
    st.builds(Opaque, st.sampled_from(list(FORMATS)), strangers, st.sampled_from(['{"type":"compaction"}', "{}"]), texts),
    media,
    calls,
)
inputs = st.lists(texts.map(Text) | media, max_size=3).map(tuple)
outputs = st.lists(texts.map(Text) | media, max_size=2).map(tuple)
hostile_bodies: st.SearchStrategy[tuple[str, Body]] = st.one_of(
    st.tuples(st.just("user_message"), inputs.map(Message)),
    st.tuples(st.just("user_message"), inputs.map(Message)),
    st.tuples(st.just("agent_message"), inputs.map(Message)),
    st.tuples(st.just("system_message"), inputs.map(Message)),
    st.tuples(
        st.just("assistant_message"), st.builds(lambda parts, status: Answer(tuple(parts), status), st.lists(hostile_parts, max_size=5), statuses)
    ),
    st.tuples(st.just("tool_result"), st.builds(ToolResult, call_ids, outputs, st.none() | st.just("lookup"), st.booleans())),
)


@st.composite
def ledgers(draw: st.DrawFn, own: tuple[str, str], given_flags: st.SearchStrategy[dict[str, Any]] = flags, acts_max: int = 10) -> Ledger:
    """Any order of messages. Of the whole answers, every second is of the dialect and model that the body is for."""
    ledger = Ledger()
    rows = minted()
    others = list(rows)
    used: set[tuple[tuple[str, str], int]] = set()
    for _ in range(draw(st.integers(0, acts_max))):
        given = draw(given_flags)
        if draw(st.booleans()):
            by = own if own in rows and draw(st.booleans()) else draw(st.sampled_from(others))
            place = (by, draw(st.integers(0, len(rows[by]) - 1)))
            fresh = place not in used
            used.add(place)
            body: Body = rows[by][place[1]]._replace(status=draw(statuses)) if fresh else Message((Text("Again?"),))
            kind = "assistant_message" if fresh else "user_message"
        else:
            kind, body = draw(hostile_bodies)
            if isinstance(body, Answer) and draw(st.booleans()):
                body = body._replace(model=own[1])
        ledger.add(kind, body, **given)
        _results(draw, ledger, body, {key: given[key] for key in ("turn", "hidden", "agent", "invocation") if key in given})
    return ledger


def _results(draw: st.DrawFn, ledger: Ledger, body: Body, given: dict[str, Any]) -> None:
    """Results of an answer's calls: in any order, most of them there, some twice, in the answer's own turn and run."""
    asked = [part for part in body.parts if isinstance(part, ToolCall)]
    for called in draw(st.permutations(asked)) if len(asked) > 1 else asked:
        for _ in range(draw(st.sampled_from([0, 1, 1, 1, 1, 1, 2]))):
            result = ToolResult(called.tool_call_id, draw(outputs), draw(st.none() | st.just(called.name)), draw(st.booleans()))
            ledger.add("tool_result", result, **given)


SCHEMAS: tuple[dict[str, Any], ...] = (
    {"type": "object"},
    {"type": "object", "properties": {}, "additionalProperties": False},
    {
        "type": "object",
        "properties": {
            "n": {"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 9},
            "way": {"enum": ["a", "b", 3, None]},
            "list": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "minItems": 2},
            "const": {"const": "x"},
            "any": {},
            "$ref": {"type": "string", "description": "a property with a hostile name"},
        },
        "required": ["n"],
    },
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}, "one": {"oneOf": [{"type": "string", "format": "uuid"}, {"type": "number"}]}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "patternProperties": {"^x": {"type": "string"}}}},
        "dependentRequired": {"one": ["tree"]},
        "allOf": [{"required": ["tree"]}, {"properties": {"größe": {"type": "number"}}}],
        "not": {"required": ["nothing"]},
    },
)


TOOLS: tuple[dict[str, Any], ...] = (
    {"name": "lookup", "description": "Finds a record.", "parameters": SCHEMAS[2]},
    {"name": "escalate", "description": "d" * 1500, "enabled": False},
    {"name": "gone", "parameters": SCHEMAS[3]},
)


@cache
def revisions() -> tuple[AgentRevision, ...]:
    """Agents: without tools, with some, with many; with late words, with a plan."""
    some = list(TOOLS)
    many = [{"name": f"tool_{number}", "description": "", "parameters": SCHEMAS[number % 4]} for number in range(12)]
    blank = {"renderer": "system", "text": " "}
    hostile = {"renderer": "system", "text": "".join(HOSTILE)}
    return (
        agent(),
        agent(context=[SYSTEM, {"renderer": "history"}], tools=some),
        agent(context=[{"renderer": "history"}, SYSTEM], tools=[some[0]], turn={"partial_answers": "text"}),
        agent(context=[SYSTEM], tools=some),
        agent(context=[blank, hostile, {"renderer": "history"}], tools=many),
        agent(context=[SYSTEM, {"renderer": "history"}, {"renderer": "system", "text": "Now is later.", "placement": "tail"}], tools=some),
        agent(context=[SYSTEM, {"renderer": "history"}, {"renderer": "user", "text": "Go on."}], tools=some, plan={"enabled": True}),
    )


choices = st.sampled_from([None, "auto", "none", "required", "lookup", "escalate", "nobody"])
params: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "reasoning": st.sampled_from([{"effort": word} for word in EFFORTS]),
        "max_output_tokens": st.sampled_from([1, 1024, 16_384]),
        "temperature": st.sampled_from([0, 0.5, 1]),
    },
)


@dataclass(frozen=True)
class Case:
    """What a body is made of. `allowed`: the tools that may be chosen, None for all."""

    sources: Sources
    allowed: tuple[str, ...] | None

    @property
    def target(self) -> Target:
        return self.sources.target

    @cached_property
    def request(self) -> NeutralRequest:
        request = compile_context(self.sources, tokens).request
        names = [tool.name for tool in request.tools]
        return request if self.allowed is None else replace(request, allowed_tools=tuple(name for name in self.allowed if name in names))

    @property
    def empty(self) -> bool:
        """Whether the renderers leave nothing, so that the turn fails and nothing is sent."""
        return not self.request.messages and not self.request.system

    def written(self) -> Written:
        return FORMATS[self.target.dialect].write_request(self.request, BLOBS)


@st.composite
def targets(draw: st.DrawFn, dialect: str) -> Target:
    """A model of the dialect, with parameters; now and then one without native tools."""
    choice = ModelChoice(dialect, draw(st.sampled_from(MODELS[dialect])), draw(params))
    return resolved(choice, LIMITS, dialect, draw(st.sampled_from([{}, {}, {}, {}, {"tools": "text"}])))


@st.composite
def cases(draw: st.DrawFn, chosen: st.SearchStrategy[Target]) -> Case:
    """Anything that a compile for such a target may be given and that may be sent: it ends with user input.

    Every second one is of an agent with renderers of every kind, in a turn of several runs, with a plan and skills.
    """
    target = draw(chosen)
    whole = draw(st.booleans())
    given_flags = run_flags if whole else flags
    ledger = draw(ledgers((target.dialect, target.model.name), given_flags))
    given = draw(given_flags)
    last = draw(st.lists(texts.map(Text) | media, max_size=2))
    ledger.add("user_message", Message((Text("And now?"), *last)), **{**given, "include_in_context": True})
    masked = draw(st.sampled_from([(), (), ("lookup",), ("nobody",)]))
    sources = ledger.sources(
        draw(st.sampled_from(revisions())),
        target,
        running_turn=draw(st.none() | st.integers(1, 4)),
        ephemeral=draw(ephemerals),
        overrides=Overrides(None, draw(choices), masked),
    )
    if whole:
        return Case(draw(checkpointed(draw(featured(sources, TOOLS)))), None)
    return Case(draw(checkpointed(sources)), draw(st.sampled_from([None, None, (), ("lookup",), ("gone", "lookup"), ("nobody",)])))
