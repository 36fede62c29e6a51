"""Appends and reads in process, beside bare asyncpg on the same server."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from uuid import UUID, uuid4

import asyncpg

from app.context.compile import compile_context
from app.context.sources import AgentRevision, SourceMessage, Sources
from app.entries.compactions import Checkpoint
from app.entries.folds import Rewound
from app.entries.ids import SESSION, blob_digest, format_id
from app.entries.line import PLAIN, Covered, covered, rewound
from app.entries.messages import Answer, Message, NewEntry, decode, encode
from app.entries.parts import Text
from app.entries.summaries import Fact, Summary
from app.formats.openai_chat.write_request import write_request
from app.formats.registry import FORMATS
from app.models.resolve import resolve
from app.models.tokens import Counter
from app.services.transcripts import RawQuery, Transcripts
from app.services.write import Draft, Writer
from app.storage.store import Store
from app.storage.types import Append, NewBlob, OpenSession
from bench.database import Database
from bench.limits.postgres import TEXT, BareTable, open_table
from bench.rounds import interleave, median_ms_awaited, per_second, ratio
from bench.rows.compile import agent
from bench.scale import Scale
from bench.table import Row

CALLERS = 16
WINDOW = 50
USER, ANSWER = Message((Text(TEXT),)), Answer((Text(TEXT),))
TURN = (NewEntry("user_message", encode(USER), tokens=90), NewEntry("assistant_message", encode(ANSWER), tokens=90))
DRAFTS = (Draft("user_message", USER), Draft("assistant_message", ANSWER))
LEDGER_TABLES = ("ledger.entries", "ledger.sessions")


async def filled(store: Store, tenant: UUID, entries: int, progress: Callable[[int], object] | None = None) -> UUID:
    """A new session of that many message entries, appended as any other; `progress` hears how many are there."""
    session = uuid4()
    opening: OpenSession | None = OpenSession()
    left = entries
    while left:
        count = min(256, left)
        await store.ledger.append(tenant, session, Append(entries=(TURN * (count // 2 + 1))[:count], open=opening))
        opening = None
        left -= count
        if progress is not None:
            progress(entries - left)
    return session


@dataclass(slots=True)
class _Cost:
    """What the server did for a turn: bytes of WAL, bytes of tables and indexes, write transactions."""

    wal: float
    stored: float
    transactions: float


async def _cost(watch: asyncpg.Connection, tables: tuple[str, ...], turns: int, work: Callable[[], Awaitable[object]]) -> _Cost:
    sizes = "+".join(f"pg_total_relation_size('{table}')" for table in tables)
    query = f"SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint, {sizes}, pg_current_xact_id()::text::bigint"
    before = await watch.fetchrow(query)
    await work()
    after = await watch.fetchrow(query)
    assert before is not None
    assert after is not None
    return _Cost((after[0] - before[0]) / turns, (after[1] - before[1]) / turns, (after[2] - before[2] - 1) / turns)


async def measure_appends(database: Database, scale: Scale) -> list[Row]:
    """The rows of the append in process; `database` gives a store with a pool of `CALLERS`."""
    bare = await open_table(database.connect, CALLERS)
    try:
        return [await _throughput(database, bare, scale), await _bytes(database, bare, scale), await _growth(database, scale)]
    finally:
        await bare.close()


async def _throughput(database: Database, bare: BareTable, scale: Scale) -> Row:
    store, tenant = database.store, database.tenant
    writer = Writer(store.ledger, Counter("o200k_base").count)
    sessions = [await filled(store, tenant, 10) for _ in range(CALLERS)]

    async def ours(caller: int, _n: int) -> None:
        await store.ledger.append(tenant, sessions[caller], Append(entries=TURN))

    async def written(caller: int, _n: int) -> None:
        await writer.append(tenant, sessions[caller], DRAFTS, Append())

    figures = await interleave(
        scale.rounds,
        {
            "bare": lambda: per_second(CALLERS, scale.turns, bare.append),
            "ours": lambda: per_second(CALLERS, scale.turns, ours),
            "written": lambda: per_second(CALLERS, scale.turns, written),
            "bare alone": lambda: per_second(1, scale.turns * 4, bare.append),
            "ours alone": lambda: per_second(1, scale.turns * 4, ours),
        },
    )
    reached = ratio(figures, "ours", "bare")
    return Row(
        "append of a turn in process, 16 callers",
        "≥ 0.60 × bare asyncpg",
        f"{reached:.2f} × ({median(figures['ours']):.0f} of {median(figures['bare']):.0f} turns/s); "
        f"1 caller {ratio(figures, 'ours alone', 'bare alone'):.2f} ×; "
        f"with bodies encoded and tokens counted {ratio(figures, 'written', 'bare'):.2f} ×",
        reached >= 0.60,
        "Postgres: statements, locks and chain digests take some 0.04 ms of a core in a group of 16 and 0.2 ms alone, where two bare rows "
        "take 0.06; this process takes 0.02 ms in a group and 0.11 ms alone",
    )


async def _bytes(database: Database, bare: BareTable, scale: Scale) -> Row:
    store, tenant = database.store, database.tenant
    turns = scale.turns * CALLERS
    sessions = [await filled(store, tenant, 2) for _ in range(CALLERS)]

    async def ours(caller: int, _n: int) -> None:
        await store.ledger.append(tenant, sessions[caller], Append(entries=TURN))

    watch = await database.connect()
    try:
        limit = await _cost(watch, ("bench.messages",), turns, lambda: per_second(CALLERS, scale.turns, bare.append))
        cost = await _cost(watch, LEDGER_TABLES, turns, lambda: per_second(CALLERS, scale.turns, ours))
    finally:
        await watch.close()
    wal, stored = cost.wal / limit.wal, cost.stored / max(1.0, limit.stored)
    return Row(
        "what an append of a turn writes",
        "1 write transaction; ≤ 2 × bare WAL and bytes",
        f"{cost.transactions:.2f} transactions; WAL {wal:.2f} × ({cost.wal:.0f} of {limit.wal:.0f} B); "
        f"stored {stored:.2f} × ({cost.stored:.0f} of {limit.stored:.0f} B)",
        wal <= 2 and stored <= 2 and cost.transactions <= 1.01,
        "each entry carries two digests of 32 B, a salt, flags and counters; the session's row is written anew by each append",
    )


async def _growth(database: Database, scale: Scale) -> Row:
    store, tenant = database.store, database.tenant
    short = await filled(store, tenant, 10)
    long = await database.long_session(scale.long_entries)

    async def appended(session: UUID) -> float:
        return await median_ms_awaited(scale.turns, lambda: store.ledger.append(tenant, session, Append(entries=TURN)))

    figures = await interleave(scale.rounds, {"short": lambda: appended(short), "long": lambda: appended(long)})
    reached = ratio(figures, "long", "short")
    return Row(
        f"append at 10 → {scale.long_entries:,} entries",
        "≤ 1.2 ×",
        f"{reached:.2f} × ({median(figures['short']):.2f} → {median(figures['long']):.2f} ms, 1 caller)",
        reached <= 1.2,
        "an index one level deeper",
    )


async def measure_reads(database: Database, scale: Scale) -> list[Row]:
    """The rows of the reads in process."""
    bare = await open_table(database.connect, 1)
    try:
        return [await _window(database, bare, scale), await _page(database, bare, scale)]
    finally:
        await bare.close()


async def _window(database: Database, bare: BareTable, scale: Scale) -> Row:
    """A current line of 50 messages behind 50 and behind many entries that were left by a rewind."""
    short, long = await _rewound(database, 50), await _rewound(database, scale.long_entries)
    table = await bare.fill(scale.long_entries)
    sources_of = window_compiler(database.store, database.tenant)

    timed = partial(median_ms_awaited, scale.turns)
    figures = await interleave(
        scale.rounds,
        {
            "bare": lambda: timed(lambda: bare.last(table, WINDOW)),
            "read": lambda: timed(lambda: database.store.ledger.window(database.tenant, long)),
            "short": lambda: timed(lambda: sources_of(short)),
            "long": lambda: timed(lambda: sources_of(long)),
        },
    )
    growth, over = ratio(figures, "long", "short"), ratio(figures, "long", "bare")
    return Row(
        f"window of 50, compiled to bytes, 100 → {scale.long_entries:,} entries",
        "≤ 1.2 ×; in process ≤ 3 × bare read of 50",
        f"{growth:.2f} × ({median(figures['short']):.2f} → {median(figures['long']):.2f} ms); {over:.2f} × bare ({median(figures['bare']):.2f} ms), "
        f"of it the read {ratio(figures, 'read', 'bare'):.2f} ×",
        growth <= 1.2 and over <= 3,
        "a fixed price for each read (entering the tenant, the session's document, a lookup for each kind of setting), "
        "then decode and compile of 50 messages; the bare read is one index scan",
    )


async def _rewound(database: Database, left: int) -> UUID:
    """A session whose first `left` entries are no longer current, with a line of 50 messages after them."""
    session = await filled(database.store, database.tenant, left)
    await left_behind(database, session, left, WINDOW)
    return session


async def left_behind(database: Database, session: UUID, left: int, messages: int) -> None:
    """Begins a new line behind the first `left` entries of a session that has no more, with so many messages on it."""
    line = rewound(PLAIN, 0, left + 1)
    mark = NewEntry("rewound", Rewound(0, 0).encode(), line=line.encode())
    await database.store.ledger.append(database.tenant, session, Append(entries=(mark, *TURN * (messages // 2))))


async def covered_by_checkpoint(database: Database, session: UUID, head: int, messages: int) -> None:
    """Goes on behind a checkpoint that stands for all of a session with that head and the plain line, with so many messages after it."""
    line = covered(PLAIN, Covered("chk_bench", head + 1, head))
    summary = Summary({"summary": tuple([Fact(TEXT, (1, head)) for _ in range(10)])}, 1, head)
    artifact = NewBlob(blob_digest(summary.canonical), "application/json", summary.canonical)
    mark = Checkpoint("chk_bench", head, head, head + 2, head, head, summary, artifact.digest, "excerpt", "manual", head * 90, 1_000)
    entry = NewEntry(Checkpoint.kind, mark.encode(), line=line.encode(), blobs=(artifact.digest,))
    await database.store.ledger.append(database.tenant, session, Append(entries=(entry, *TURN * (messages // 2)), blobs=(artifact,)))


def window_compiler(store: Store, tenant: UUID, revision: AgentRevision | None = None) -> Callable[[UUID], Awaitable[bytes]]:
    """From a session's id to the body of its next call for an agent (the bench's own): read, decode, compile, serialise."""
    revision = revision or agent()
    target = resolve(revision.model, revision.limits, "openai-chat", FORMATS["openai-chat"].rules_for(revision.model.name))
    count = Counter(target.estimator).count

    async def compiled(session: UUID) -> bytes:
        window = await store.ledger.window(tenant, session)
        assert window is not None
        messages = tuple([SourceMessage(entry, decode(entry.kind, entry.payload or "")) for entry in window.messages])
        sources = Sources("ses_bench", window.head_seq, window.history_message_count, 1, revision, target, messages, running_turn=1)
        return write_request(compile_context(sources, count).request, {}).body

    return compiled


async def _page(database: Database, bare: BareTable, scale: Scale) -> Row:
    session = await filled(database.store, database.tenant, scale.page_entries)
    table = await bare.fill(scale.page_entries)

    transcripts = Transcripts(database.store, heartbeat_seconds=15)

    async def lines() -> int:
        row = await transcripts.session(database.tenant, format_id(SESSION, session))
        return sum([len(piece) async for piece in transcripts.lines(row, RawQuery(view="ledger"))])

    timed = partial(median_ms_awaited, 1)
    figures = await interleave(max(1, scale.rounds), {"bare": lambda: timed(lambda: bare.read_all(table)), "ours": lambda: timed(lines)})
    reached = ratio(figures, "ours", "bare")
    return Row(
        f"NDJSON of {scale.page_entries:,} entries",
        "≤ 1.5 × asyncpg's text read",
        f"{reached:.2f} × ({median(figures['ours']):.0f} of {median(figures['bare']):.0f} ms)",
        reached <= 1.5,
        "an entry has twelve fields beside its text, which the server spells (three quarters of the time), and a page a round trip; "
        "the bare read has one of each",
    )
