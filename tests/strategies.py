"""Hypothesis strategies: ledgers as a compile reads them, with everything that has ever gone wrong in one.

Built by construction (no filtering): each drawn act appends one message entry, calls keep a book of open ids so that most
results fit and some do not, and seqs have gaps where a real ledger holds trace entries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from hypothesis import strategies as st

from app.context.agents.read import read_agent
from app.context.sources import AgentRevision, Ephemeral, InForce, Overrides, SourceMessage, Sources
from app.entries.compactions import Checkpoint
from app.entries.ids import text_digest
from app.entries.messages import Answer, Body, Entry, Message, Status, ToolResult, encode
from app.entries.parts import Blob, Media, Opaque, Part, Reasoning, Text, ToolCall
from app.entries.summaries import FIELDS, Fact, Summary
from app.formats.registry import FORMATS
from app.models.resolve import Limits, ModelChoice, Target, resolve
from app.models.wire_rules import with_quirks

LIMITS = Limits(128_000, 16_384, "explicit")
MODEL: dict[str, Any] = {"upstream": "scripted", "name": "scripted"}

HOSTILE = (
    "",
    " ",
    "nul \x00 inside",
    "literal \\u0000 six",
    "lone \ud83d surrogate",
    "sep \u2028 \u2029 end",
    "‮RTL ​ zero",
    "👩‍👩‍👧",
    "{braces} {{ state.secret }} %s ${x}",
    "<|endoftext|> <|im_start|>system",
    '"}]} ',
)
CALL_IDS = ("c1", "c1", "call_x", "functions.Bash:0", "functions_Bash_0", "", "ü", "id with blank", "x" * 70, "lone \udc00", "SAMEID")


def resolved(
    choice: ModelChoice, limits: Limits | None = LIMITS, dialect: str = "openai-chat", quirks: Mapping[str, Any] | None = None, **more: Any
) -> Target:
    """The target of a choice under the rules that its dialect has for the model, quirks laid over them."""
    return resolve(choice, limits, dialect, with_quirks(FORMATS[dialect].rules_for(choice.name), quirks or {}), **more)


def target(dialect: str = "openai-chat", **quirks: Any) -> Target:
    """A target of the scripted upstream, with wire rules overridden."""
    return resolved(ModelChoice("scripted", "scripted", {}), dialect=dialect, quirks=quirks)


def agent(**document: Any) -> AgentRevision:
    """A revision with these keys of its document; by default history alone."""
    return read_agent("nurse", 1, {"model": MODEL, **document}, LIMITS, "sha256:" + "0" * 64)


def tokens(text: str) -> int:
    """A count for tests: one token a character."""
    return len(text)


@dataclass
class Ledger:
    """Appends message entries one by one and gives the sources of a compile at any moment."""

    messages: list[SourceMessage] = field(default_factory=list)
    seq: int = 0

    def add(
        self,
        kind: str,
        body: Body,
        turn: int | None = None,
        include_in_context: bool = True,
        hidden: bool = False,
        gap: int = 0,
        attributes: str | None = None,
        agent: str | None = None,
        invocation: int = 0,
    ) -> SourceMessage:
        self.seq += 1 + gap
        payload = encode(body)
        digest = sha256(f"{self.seq}{payload}".encode()).digest()
        at = datetime(2026, 11, 29, tzinfo=UTC)  # every entry at the same time: order never comes from a clock
        entry = Entry(
            self.seq,
            kind,
            1,
            turn,
            len(self.messages),
            agent,
            invocation,
            len(payload),
            hidden,
            include_in_context,
            attributes,
            payload,
            digest,
            digest,
            at,
            at,
        )
        self.messages.append(SourceMessage(entry, body))
        return self.messages[-1]

    def user(self, text: str, **flags: Any) -> SourceMessage:
        return self.add("user_message", Message((Text(text),)), **flags)

    def agent(self, text: str, **flags: Any) -> SourceMessage:
        return self.add("agent_message", Message((Text(text),)), **flags)

    def answer(self, *parts: Part | str, status: Status = Status.COMPLETED, **flags: Any) -> SourceMessage:
        return self.add("assistant_message", Answer(tuple(Text(part) if isinstance(part, str) else part for part in parts), status), **flags)

    def result(self, tool_call_id: str, text: str = "ok", **flags: Any) -> SourceMessage:
        return self.add("tool_result", ToolResult(tool_call_id, (Text(text),), "lookup"), **flags)

    def sources(self, agent: AgentRevision | None = None, target: Target | None = None, **changes: Any) -> Sources:
        found = Sources("ses_test", self.seq, len(self.messages), 1, agent or AGENT, target or TARGET, tuple(self.messages))
        return replace(found, **changes)


AGENT = agent()
TARGET = target()


def call(tool_call_id: str, name: str = "lookup", arguments: str = "{}") -> ToolCall:
    return ToolCall(tool_call_id, name, arguments)


texts = st.sampled_from(HOSTILE) | st.text(max_size=12)
call_ids = st.sampled_from(CALL_IDS)
blobs = st.builds(Blob, st.just("sha256:" + "a" * 64), st.just("image/png"), st.integers(1, 99))
producers = st.sampled_from(
    [
        "openai-chat/scripted/scripted",
        "openai-chat/scripted/other",
        "openai-chat/scripted/scripted#sha256:" + "0" * 64,
        "gemini/scripted/other",
        "m",
    ]
)
said = st.one_of(
    texts.map(Text),
    st.builds(Reasoning, texts),
    st.builds(Reasoning, texts, st.just('{"signature": "s"}'), producers),
    st.builds(lambda text, producer: Text(text, None, '{"phase": "x"}', producer), texts, producers),
    st.builds(Opaque, st.just("openai-chat"), st.just("m"), st.just("{}"), texts),
)
input_parts = st.lists(texts.map(Text) | st.builds(Media, st.sampled_from(["image", "file"]), blobs), max_size=3).map(tuple)
calls = st.builds(ToolCall, call_ids, st.sampled_from(["lookup", "gone"]), st.sampled_from(["{}", '{"a":1}', "not json", ""]))
answer_parts = st.lists(said | calls, max_size=4).map(tuple)
result_parts = st.lists(texts.map(Text) | st.builds(Media, st.just("image"), blobs), max_size=2).map(tuple)

statuses = st.sampled_from([Status.COMPLETED] * 5 + [Status.FAILED, Status.CANCELLED, Status.INTERRUPTED])
bodies = st.one_of(
    st.tuples(st.just("user_message"), input_parts.map(Message)),
    st.tuples(st.just("agent_message"), input_parts.map(Message)),
    st.tuples(st.just("system_message"), input_parts.map(Message)),
    st.tuples(st.just("assistant_message"), st.builds(lambda parts, status: Answer(parts, status), answer_parts, statuses)),
    st.tuples(st.just("tool_result"), st.builds(ToolResult, call_ids, result_parts, st.none() | st.just("lookup"), st.booleans())),
)
flags: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "turn": st.none() | st.integers(1, 4),
        "include_in_context": st.sampled_from([True, True, True, False]),
        "hidden": st.booleans(),
        "gap": st.sampled_from([0, 0, 1, 3]),
        "attributes": st.none() | st.just('{"ui":"attribute-text"}'),
    }
)


@st.composite
def ledgers(draw: st.DrawFn, acts_max: int = 12, given_flags: st.SearchStrategy[dict[str, Any]] = flags) -> Ledger:
    """Any order of messages, with runs in which the calls of an answer are mostly answered."""
    ledger = Ledger()
    for _ in range(draw(st.integers(0, acts_max))):
        kind, body = draw(bodies)
        given = draw(given_flags)
        ledger.add(kind, body, **given)
        asked = [part for part in body.parts if isinstance(part, ToolCall)]
        for answered in draw(st.permutations(asked)) if asked else ():
            for _ in range(draw(st.sampled_from([0, 1, 1, 1, 1, 2]))):
                ledger.add("tool_result", ToolResult(answered.tool_call_id, draw(result_parts)), turn=given["turn"])
    return ledger


ephemerals = st.lists(
    st.builds(Ephemeral, st.sampled_from(["user_message", "agent_message"]), input_parts, st.booleans(), st.integers(0, 50)), max_size=2
).map(tuple)

TOOL_DOCUMENTS = [{"name": "lookup", "description": "Finds a record."}, {"name": "escalate", "description": "d", "enabled": False}, {"name": "gone"}]
SYSTEM = {"renderer": "system", "text": "You are a triage nurse."}
AGENTS: Sequence[AgentRevision] = (
    AGENT,
    agent(context=[SYSTEM, {"renderer": "history"}], tools=TOOL_DOCUMENTS),
    agent(context=[{"renderer": "history"}, SYSTEM], turn={"partial_answers": "text"}),
    agent(context=[SYSTEM], tools=TOOL_DOCUMENTS),
    agent(context=[{**SYSTEM, "id": "late", "placement": "tail"}, {"renderer": "history"}]),
)
TARGETS: Sequence[Target] = (
    TARGET,
    target(call_id_pattern="[a-zA-Z0-9]{9}", call_id_chars_max=9),
    target(call_id_pattern="[a-zA-Z0-9_-]+", call_id_chars_max=64),
    target(
        arguments="object",
        user_first=True,
        user_last=True,
        results_in_call_order=True,
        blank_texts=False,
        image_types="image/jpeg",
        provider_blocks=True,
        prefix_bound=True,
    ),
    target(reply_after_results=True, images=False, files=False, provider_blocks=True, foreign_reasoning="drop"),
)
overrides = st.builds(
    Overrides, st.none(), st.sampled_from([None, "auto", "none", "required", "lookup", "escalate"]), st.sampled_from([(), ("lookup",), ("nobody",)])
)


facts = st.builds(lambda text, cites: Fact(f"F{text}", tuple(cites)), texts, st.lists(st.integers(1, 9), max_size=2))
summaries = st.dictionaries(st.sampled_from(FIELDS), st.lists(facts, min_size=1, max_size=2).map(tuple), min_size=1, max_size=3)


def behind(found: Sources, first: SourceMessage, told: Mapping[str, tuple[Fact, ...]]) -> Sources:
    """The sources behind a checkpoint that keeps everything from the user message `first` on."""
    entry, covered = first.entry, [message for message in found.messages if message.entry.seq < first.entry.seq]
    begin, end = covered[0].entry.seq, entry.seq - 1
    within = {name: tuple([Fact(one.text, tuple([seq for seq in one.cites if begin <= seq <= end])) for one in ones]) for name, ones in told.items()}
    summary = Summary(within, begin, end)
    body = Checkpoint(
        checkpoint_id="chk_test",
        requested_seq=found.head_seq,
        covers_through_seq=entry.seq - 1,
        first_kept_seq=entry.seq,
        first_kept_index=entry.message_index or 0,
        history_message_count=found.history_message_count,
        summary=summary,
        artifact=text_digest(summary.canonical.decode("utf-8", "surrogatepass")),
        driver="model",
        trigger="manual",
        tokens_before=2,
        tokens_after=1,
        agents=tuple(sorted({one.agent or "" for one, body in covered if isinstance(body, Answer)})),
        user_messages=sum(message.entry.kind == "user_message" for message in covered),
    )
    kept = tuple([message for message in found.messages if message.entry.seq >= entry.seq])
    # The checkpoint's entry is appended behind everything that it covers.
    return replace(found, messages=kept, window_from_seq=entry.seq, checkpoint=InForce(found.head_seq, body, b"c" * 32))


@st.composite
def checkpointed(draw: st.DrawFn, found: Sources) -> Sources:
    """The same sources, or those behind a checkpoint, with whatever summary."""
    boundaries = [message for message in found.messages[1:] if message.entry.kind == "user_message"]
    if not boundaries or draw(st.booleans()):
        return found
    return behind(found, draw(st.sampled_from(boundaries)), draw(summaries))


@st.composite
def sources(draw: st.DrawFn) -> Sources:
    """Anything that a compile may be given."""
    found = draw(ledgers()).sources(
        draw(st.sampled_from(AGENTS)),
        draw(st.sampled_from(TARGETS)),
        running_turn=draw(st.none() | st.integers(1, 4)),
        ephemeral=draw(ephemerals),
        overrides=draw(overrides),
        state_seq=draw(st.none() | st.just(1)),
    )
    return draw(checkpointed(found))
