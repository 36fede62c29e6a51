"""Ledgers of plain turns, and the checkpoint that a plan of them would become."""

from app.context.compaction.plan import Plan
from app.context.compaction.reading import check_summary, parse_summary
from app.context.sources import Sources
from app.entries.compactions import Checkpoint
from app.entries.summaries import Fact, Summary
from tests.strategies import Ledger, call


def turns(ledger: Ledger, *numbers: int) -> Ledger:
    """Appends whole turns: a question, a call, its result, an answer."""
    for number in numbers:
        ledger.user(f"question {number}", turn=number)
        ledger.answer(call(f"c{number}"), turn=number, agent="nurse")
        ledger.result(f"c{number}", f"found {number}", turn=number)
        ledger.answer(f"answer {number}", turn=number, agent="nurse")
    return ledger


def accepted(sources: Sources, plan: Plan, *facts: Fact, checkpoint_id: str = "chk_1") -> Checkpoint:
    """The checkpoint of a plan with these facts in its summary, as the service makes one."""
    earlier = sources.checkpoint
    return Checkpoint(
        checkpoint_id=checkpoint_id,
        requested_seq=sources.head_seq,
        covers_through_seq=plan.covers_through_seq,
        first_kept_seq=plan.first_kept_seq,
        first_kept_index=plan.first_kept_index,
        history_message_count=sources.history_message_count,
        summary=Summary({"summary": facts or (Fact("They spoke."),)}, plan.from_seq, plan.covers_through_seq),
        artifact="sha256:" + "a" * 64,
        driver="model",
        trigger="manual",
        tokens_before=2,
        tokens_after=1,
        replaces=None if earlier is None else earlier.body.checkpoint_id,
        agents=plan.agents,
        user_messages=plan.user_messages,
    )


def read_summary(text: str, from_seq: int, through_seq: int) -> Summary:
    """What a model wrote of the entries `from_seq` … `through_seq`, in the service's two steps. Raises `SummaryRefused`."""
    return check_summary(parse_summary(text, from_seq, through_seq))
