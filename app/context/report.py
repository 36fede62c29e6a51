"""What is told of a compile: manifest, source map with pointers, and the exceptions that a call's record keeps.

Derived on demand from the compiled rows and the pointers that the wire format returned with the body. No content, no secret:
positions, counts, reasons and digests alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.context.account import strongest
from app.context.budget import budget, raw_tail
from app.context.compile import POLICY_VERSION, Compiled, compiler_version
from app.context.draft import CompactionOrigin, History, NeutralRequest, Reason
from app.context.listed import Listed, Place, listed, neutral
from app.context.passes.measure import declaration
from app.context.passes.skills import expansions
from app.context.source_facts import facts
from app.entries import lossless
from app.entries.ids import text_digest

EXCEPTION_CHARS_MAX = 600
"""A list of positions in the exceptions is cut after this many characters; what was cut is recompiled, not read."""


Pointer = tuple[str, int, int | None]
"""Where a message or a part of it stands in the body: an RFC 6901 pointer, the position in the neutral list, the part or None."""


def manifest(compiled: Compiled, pointers: Sequence[Pointer] = (), sections: Sequence[str] = (), tools: Sequence[str] = ()) -> dict[str, Any]:
    """The manifest of http-api 6: its header (X-62) and one row for each source (X-63), with the pointer of what was sent.

    `pointers`, `sections` and `tools` are what the wire format returned with the body: places of messages and their parts, of
    the system sections and of the declared tools; without a body they are empty and no row has a pointer.
    """
    sources = compiled.sources
    seqs = {entry.message_index: entry.seq for entry, _ in sources.messages if entry.message_index is not None}
    rows = []
    for row, pointer in _pointed(compiled, pointers, sections, tools):
        source, disposition, reason, also, by, before, after, digest = row.decision
        seq, priority, sensitivity, trust, version = facts(row, sources, seqs)
        rows.append(
            {
                "source": source,
                "disposition": disposition,
                "reason": reason,
                "also": list(also) if also else [],
                "pass": by,
                "tokens_before": before,
                "tokens_after": after,
                "digest": digest,
                "pointer": pointer,
                "id": row.id,
                "seq": seq,
                "priority": priority,
                "sensitivity": sensitivity,
                "trust": trust,
                "version": version,
            }
        )
    return {**_header(compiled), "decisions": rows}


def _header(compiled: Compiled) -> dict[str, Any]:
    """What holds for all rows. `clear_boundary` is where the line begins, covered or not, `raw_tail_from_seq` the window's first message."""
    sources = compiled.sources
    target, agent = sources.target, sources.agent
    figures = budget(target, agent, compiled.measured)
    return {
        "compiler_version": compiler_version(agent),
        "estimator": target.estimator,
        "policy_version": POLICY_VERSION,
        "head_seq": sources.head_seq,
        "window_from_seq": sources.window_from_seq,
        "model": {"name": target.model.name, **target.limits.to_json()},
        "budgets": {
            "input_limit": figures.input_limit,
            "output_reserve": figures.output_reserve,
            "safety": figures.safety,
            "trigger": figures.trigger,
            "raw_tail": raw_tail(target, agent),
        },
        "estimated_input": figures.total,
        "summary_digest": None if sources.checkpoint is None else sources.checkpoint.body.artifact,
        "clear_boundary": sources.line_from_seq,
        "raw_tail_from_seq": sources.messages[0].entry.seq if sources.messages else None,
        "plan_revision": None if sources.plan is None or not sources.plan.active else sources.plan.revision,
        "logical_digest": logical_digest(compiled.request),
    }


def source_pointers(
    compiled: Compiled, pointers: Sequence[Pointer] = (), sections: Sequence[str] = (), tools: Sequence[str] = ()
) -> dict[str, str | None]:
    """The pointer of each source by its id, as the manifest has them."""
    return {row.id: pointer for row, pointer in _pointed(compiled, pointers, sections, tools)}


def _pointed(compiled: Compiled, pointers: Sequence[Pointer], sections: Sequence[str], tools: Sequence[str]) -> Iterator[tuple[Listed, str | None]]:
    """Each source with its pointer: of the message itself where the format gave one, else of its first part."""
    messages = compiled.request.messages
    found: list[str | None] = [None] * len(messages)
    for place, source, part in pointers:
        if part is None or found[source] is None:
            found[source] = place
    # An empty pointer of a tool: this wire leaves the tool out.
    places: Mapping[Place, Sequence[str | None]] = {"messages": found, "system": sections, "tools": [place or None for place in tools]}
    at_message = dict(zip(map(id, messages), found, strict=True)) if compiled.skills else {}
    skills = {skill.snapshot.seq: at_message.get(id(skill.message)) for skill in compiled.skills}
    for row in listed(compiled, contents=False):
        if row.place is not None and row.position is not None:
            there = places[row.place]
            yield row, there[row.position] if row.position < len(there) else None
        else:
            yield row, skills.get(row.decision.source.get("seq", 0)) if row.item is None else None


def source_map(compiled: Compiled, pointers: Sequence[Pointer] = ()) -> dict[str, Any]:
    """The source map of http-api 6: `sources[i]` is the origin of message i of the neutral list, before any wire folding."""
    origins = [message.origin for message in compiled.request.messages]
    seqs = [origin[0] if isinstance(origin, History) else getattr(origin, "seq", None) for origin in origins]
    places = compiled.places
    return {
        "history_message_count": compiled.sources.history_message_count,
        "sources": [
            # What nearly all of them are is spelled here, without the call of its method.
            {"type": "history", "message_index": origin[1], "seq": origin[0]} if isinstance(origin, History) else origin.to_json()
            for origin in origins
        ],
        "skill_expansions": expansions(compiled.skills),
        "pointers": [
            {"pointer": place, "source": source, "seq": seqs[source], "part": compiled.part_of(source, part) if source in places else part}
            for place, source, part in pointers
        ],
    }


def exceptions(compiled: Compiled) -> dict[str, Any]:
    """What was not plainly included, for the call's record: ≤ 3 kB for a window of 200, whatever happened in it.

    Positions are `message_index`es as text: `"3,7-9"`. Tools are counted; their names follow from the revision and the overrides.
    """
    grouped: dict[tuple[str, str], list[int]] = {}
    ephemeral = 0
    summary: dict[str, Any] = {}
    for item in (*compiled.items, *compiled.inserted):
        if len(item.steps) == 1 and item.steps[0].reason is Reason.IN_WINDOW:
            continue
        step, _ = strongest(item.steps)
        if isinstance(item.origin, CompactionOrigin):
            told = {"disposition": step.disposition.value, "reason": step.reason.value}
            summary = {"checkpoint": {"checkpoint_id": item.origin.checkpoint_id, **told}}
            continue
        index = getattr(item.origin, "message_index", None)
        if index is None:
            ephemeral += 1
        else:
            grouped.setdefault((step.disposition.value, step.reason.value), []).append(index)
    left_out: dict[str, int] = {}
    for fate in compiled.tools:
        if fate.reason is not Reason.DECLARED:
            left_out[fate.reason.value] = left_out.get(fate.reason.value, 0) + 1
    return {
        "messages": [
            {"disposition": disposition, "reason": reason, "count": len(indexes), "message_indexes": _ranges(indexes)}
            for (disposition, reason), indexes in grouped.items()
        ],
        "ephemeral": ephemeral,
        "tools": left_out,
        **summary,
    }


def _ranges(indexes: list[int]) -> str:
    """`[3, 7, 8, 9]` as `3,7-9`; what does not fit ends in `…`."""
    pieces: list[str] = []
    start = last = indexes[0]
    for index in (*indexes[1:], -1):
        if index == last + 1 or index == last:
            last = index
            continue
        pieces.append(str(start) if start == last else f"{start}-{last}")
        start = last = index
    text = ",".join(pieces)
    return text if len(text) <= EXCEPTION_CHARS_MAX else text[:EXCEPTION_CHARS_MAX].rpartition(",")[0] + ",…"


def prefix_digest(request: NeutralRequest) -> str:
    """`sha256:<hex>` of the unchanging start of a request: instructions and declared tools in their order (S3-38, T-12)."""
    prefix = {"system": [section.text for section in request.system], "tools": [declaration(tool) for tool in request.tools]}
    return text_digest(lossless.dumps(prefix))


def logical_digest(request: NeutralRequest) -> str:
    """`sha256:<hex>` of the whole neutral request, independent of the wire format; O(text)."""
    whole = {
        "system": [section.text for section in request.system],
        "tools": [declaration(tool) for tool in request.tools],
        "messages": [neutral(message) for message in request.messages],
        "allowed_tools": None if request.allowed_tools is None else list(request.allowed_tools),
        "tool_choice": request.tool_choice,
    }
    return text_digest(lossless.dumps(whole))
