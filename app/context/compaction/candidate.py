"""The sources as they will be behind a checkpoint that is not accepted yet, and the least that a request weighs behind one."""

from dataclasses import replace

from app.context.compaction.plan import Plan
from app.context.compile import Compiled, compile_context
from app.context.draft import Count
from app.context.origins import check_replaced
from app.context.sources import InForce, Sources
from app.entries.compactions import Checkpoint
from app.entries.summaries import Fact, Summary

_LEAST = "-"
"""A summary is never blank."""


def candidate(sources: Sources, plan: Plan, checkpoint: Checkpoint) -> Sources:
    """What the next compile will read once `checkpoint` is in force: the whole request is measured again from it (X-47).

    Raises `InvalidOrigins` for one that does not lie behind the one in force.
    """
    if sources.checkpoint is not None:
        check_replaced(checkpoint, sources.checkpoint.body)
    kept = tuple([message for message in sources.messages if message.entry.seq >= plan.first_kept_seq])
    return replace(
        sources,
        messages=kept,
        window_from_seq=plan.reads_from_seq,
        checkpoint=InForce(0, checkpoint),
        skill_snapshots=tuple([one for one in sources.skill_snapshots if one.seq >= plan.reads_from_seq]),
        pruned={seq: one for seq, one in sources.pruned.items() if seq >= plan.first_kept_seq},
    )


def floor_tokens(compiled: Compiled, plan: Plan, count: Count) -> int:
    """What the whole request would weigh behind the plan's checkpoint with a summary of next to nothing: no summary makes it less."""
    summary = Summary({"summary": (Fact(_LEAST),)}, plan.from_seq, plan.covers_through_seq)
    least = Checkpoint(
        checkpoint_id="",
        requested_seq=0,
        covers_through_seq=plan.covers_through_seq,
        first_kept_seq=plan.first_kept_seq,
        first_kept_index=plan.first_kept_index,
        history_message_count=compiled.sources.history_message_count,
        summary=summary,
        artifact="",
        driver="excerpt",
        trigger="manual",
        tokens_before=compiled.measured.total,
        tokens_after=0,
        agents=plan.agents,
        user_messages=plan.user_messages,
    )
    return compile_context(candidate(compiled.sources, plan, least), count).measured.total
