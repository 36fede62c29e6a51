"""The schemas that answers name, as they stand in the OpenAPI document's components."""

from collections.abc import Mapping

from app.api.schemas import agents, entries, explain, model_input, operations, sessions, transfers, turns
from app.api.schemas.basics import Schema

NAMED: Mapping[str, Schema] = {
    "Agent": agents.AGENT,
    "AgentList": agents.AGENT_LIST,
    "RevisionList": agents.REVISION_LIST,
    "UpstreamList": agents.UPSTREAM_LIST,
    "Catalogue": agents.CATALOGUE,
    "Session": sessions.SESSION,
    "SessionList": sessions.SESSION_LIST,
    "Usage": sessions.USAGE,
    "TurnUsage": sessions.TURN_USAGE,
    "StreamEvent": turns.STREAM_EVENT,
    "EntryEvent": entries.ENTRY_EVENT,
    "State": sessions.STATE,
    "Verification": sessions.VERIFICATION,
    "Blob": entries.BLOB,
    "Part": entries.PART,
    "Entry": entries.ENTRY,
    "EntryList": entries.ENTRY_LIST,
    "EntriesAppended": entries.ENTRIES_APPENDED,
    "Turn": turns.TURN,
    "TurnList": turns.TURN_LIST,
    "Stopped": turns.STOPPED,
    "Budget": model_input.BUDGET,
    "ModelInput": model_input.MODEL_INPUT,
    "Reason": model_input.REASON,
    "ModelInputDiff": explain.DIFF,
    "ComparedInput": explain.INPUT,
    "SourceChange": explain.CHANGE,
    "SourceInInput": explain.SIDE,
    "Why": explain.WHY,
    "Explanation": explain.EXPLANATION,
    "SourceMap": model_input.DISPATCHED_MAP,
    "ModelCall": model_input.CALL,
    "CallList": model_input.CALL_LIST,
    "Validation": model_input.VALIDATION,
    "Imported": transfers.IMPORTED,
    "Problem": operations.PROBLEM,
    "ProblemPage": operations.PROBLEM_PAGE,
    "Liveness": operations.LIVENESS,
    "Readiness": operations.READINESS,
}
