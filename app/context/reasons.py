"""What a reason says in plain words: one sentence for each, and for why something of the ledger is no source of a call at all.

A new reason needs its row in `SENTENCES`; a test compares the table with the enum. A sentence speaks of "it", names no content, and is
true of every source that may have the reason.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from app.context.draft import Reason
from app.entries.kinds import Family


class Outside(StrEnum):
    """Why an entry is no source of a call. The manifest has no row for one, only `explain` tells. Closed, as `Reason` is."""

    AFTER_HEAD = "after_head"
    OTHER_LINE = "other_line"
    COVERED = "covered"
    SETTINGS = "settings"
    FOLD = "fold"
    TRACE = "trace"


SENTENCES: Mapping[Reason | Outside, str] = MappingProxyType(
    {
        Reason.IN_WINDOW: "It is part of the conversation on the current line and was sent as it was said.",
        Reason.RENDERED: "A renderer of the agent put it, or words that it made of it, into this call.",
        Reason.DECLARED: "The agent has this tool, and the model was told of it.",
        Reason.EPHEMERAL: "It is sent in the calls of its own turn alone and is never stored.",
        Reason.PARTIAL_ANSWER: "The answer was stopped; only the text that had come until then was sent.",
        Reason.TOOL_CALL_ID_FITTED: "The model's wire format does not take a tool call id as it is, so the id was rewritten.",
        Reason.TOOL_CALL_ID_REPEATED: "Another call of the window bears the same tool call id, so the id was rewritten.",
        Reason.REASONING_AS_TEXT: "Another model thought this in plain words, so the thoughts were sent as text.",
        Reason.REASONING_LEFT_OUT: "The model may not get this reasoning, or takes none, so the reasoning was left out.",
        Reason.BLOCK_LEFT_OUT: "A provider's own block was left out: it is of another provider, model or account.",
        Reason.PREFIX_CHANGED: "Its reasoning is bound to what came before it, which is not what it was, so the reasoning was left out.",
        Reason.MEDIA_NOT_TAKEN: "The model does not take an image or file of this kind, type or size, so words name it instead.",
        Reason.MEDIA_MOVED: "The model takes no media in a tool result, so they were sent behind the results as user input.",
        Reason.BLANK_TEXT: "The model takes no blank text, so a blank one was left out or replaced.",
        Reason.ARGUMENTS_FITTED: "The arguments of a tool call were no JSON object, which the wire format asks for, so they were fitted.",
        Reason.CALL_AS_TEXT: "The model has no native tool calling, so a tool call was written as text.",
        Reason.RESULT_AS_TEXT: "The model has no native tool calling, so the tool result was written as text.",
        Reason.RESULT_ORDER: "The model takes results in the order of their calls, so it was put in that order.",
        Reason.USER_FIRST: "The model takes a list that begins with user input, so words of the service open it.",
        Reason.USER_LAST: "The model takes a list that ends with user input, so words of the service close it.",
        Reason.REPLY_AFTER_RESULTS: "The model takes no user input right behind tool results, so words of the service stand between.",
        Reason.ROUND_CLOSED: "The model wants open tool calls back with what it thought, which is not sent, so words of the service close them.",
        Reason.MISSING_TOOL_RESULT: "The tool call has no result in the window, so a stand-in answers it in this request alone.",
        Reason.FAILED_RESPONSE: "The answer failed, was cancelled or was interrupted, so it was not sent.",
        Reason.NOT_IN_CONTEXT: "It was posted with `include_in_context: false` and belongs to another turn, so it was not sent.",
        Reason.SYSTEM_MESSAGE: "It is system text from an import; system text is rebuilt for each call, so it was not sent.",
        Reason.EMPTY_MESSAGE: "It has no part at all, and no wire format takes such a message.",
        Reason.BLANK_MESSAGE: "It holds blank texts alone, and the model takes none.",
        Reason.REDACTED: "Its content was erased, so there is nothing to send.",
        Reason.NOT_RENDERED: "No renderer of the agent placed it, so it was not sent.",
        Reason.ORPHAN_TOOL_RESULT: "Its tool call stands nowhere before it, and a result without its call is not sent.",
        Reason.DUPLICATE_TOOL_RESULT: "Its tool call has a result already; the first one is what was sent.",
        Reason.LATE_TOOL_RESULT: "The conversation had gone on when it came; a stand-in answers its tool call, and it was not sent.",
        Reason.MASKED: "The tool is masked in this call, so it was not declared.",
        Reason.DISABLED: "The agent's document switches the tool off, so it was not declared.",
        Reason.NOT_ENFORCED: "The provider cannot enforce this; the service does, when the model answers.",
        Reason.OUT_OF_SCOPE: "The scope of the agent's history does not hold it: it belongs to another agent's run.",
        Reason.TEXT_OF_OTHER_AGENT: "Another agent said it, and of that agent's answers the text alone is shown.",
        Reason.OPEN_CALL_LEFT_OUT: "It called the agent that is asked now; a call that is still being answered is left out.",
        Reason.REASONING_PRUNED: "The agent's renderers leave reasoning out.",
        Reason.NOT_RECENT: "It is older than what the agent's renderers keep of the conversation.",
        Reason.CALL_KEPT_FOR_RESULT: "A result that was kept needs its call; the rest of the answer is older than what is kept.",
        Reason.RESULT_SHORTENED: "The agent's renderers shorten older results; words that name the tool and the size stand in its place.",
        Reason.FOR_OTHER_AGENT: "It is aimed at another agent by name.",
        Reason.TEXT_TRANSFORMED: "A template of the agent spelled it anew for this call.",
        Reason.CONDITION_NOT_MET: "The condition of its renderer did not hold, so the renderer did nothing.",
        Reason.RENDERED_BLANK: "Its renderer gave a blank text, so nothing was sent.",
        Reason.RENDER_FAILED: "Its renderer failed, so the request is not sent.",
        Reason.NARROWED: "The tool is declared, and outside of the list that the choice is narrowed to.",
        Reason.CONTROL_HIDDEN: "The call was made for something else than the plan, so this control was not shown.",
        Reason.CONTINUATION: "It is part of what tells the model why the call is made and what is left to do.",
        Reason.SUMMARIZED: "A summary stands for the older messages that a checkpoint covers.",
        Reason.PRUNED_STALE_TOOL_RESULT: "The result is out of date or of no further use; words that name the tool and the size stand in its place.",
        Reason.PRUNED_OLD_TOOL_RESULT: "The result is old and large, and the window was filling up: the most of it is left out.",
        Reason.SKILL_EXPANDED: "A skill's text stands before the words of the message that the skill was selected for.",
        Reason.SKILL_REPLAYED: "It is a snapshot of a skill of an older form, which was sent as a message of its own.",
        Reason.ANCHOR_ABSENT: "The message that the skill was selected for was not in the window, so the skill was not sent.",
        Reason.ABSENT: "The session has none.",
        Outside.AFTER_HEAD: "It was appended after the ledger was read for this call.",
        Outside.OTHER_LINE: "It is not on the line that was current for this call: the session was rewound, cleared or went on elsewhere.",
        Outside.COVERED: "A checkpoint's summary stands for it.",
        Outside.SETTINGS: "Settings are never sent as messages; they decide which agent, model and state a call is made with.",
        Outside.FOLD: "It changes which entries are current and is itself never sent.",
        Outside.TRACE: "It is a note of what the service did, kept for people and for replays, and never sent.",
    }
)
"""One sentence for each reason."""

FAMILIES: Mapping[Family, Outside] = MappingProxyType({Family.SETTINGS: Outside.SETTINGS, Family.FOLD: Outside.FOLD, Family.TRACE: Outside.TRACE})
"""Why an entry that is no message is not sent, by its family."""
