"""The floor under the command line: a scripted test kit for those who write agents.

Runs a script of user and model steps against the real service in this process and gives back what came of it: entries, turns,
calls, each call's model input derived again, events, state. Only the model is scripted. It drives the service through its HTTP
API alone, has no rule of the ledger of its own, and imports no test framework.
"""

from app.testing.faults import NotStarted, RunTimeout, ScriptFault, StepRefused
from app.testing.matchers import (
    ANYTHING,
    Matcher,
    has_entries,
    has_event,
    has_events,
    has_result,
    has_state,
    has_status,
    has_text,
    has_tool_call,
)
from app.testing.renders import Piece, Render
from app.testing.run import Event, Run
from app.testing.service import Service, service
from app.testing.steps import Step, approve, deny, input_for, model, result, set_state, tool_call, user

__all__ = [
    "ANYTHING",
    "Event",
    "Matcher",
    "NotStarted",
    "Piece",
    "Render",
    "Run",
    "RunTimeout",
    "ScriptFault",
    "Service",
    "Step",
    "StepRefused",
    "approve",
    "deny",
    "has_entries",
    "has_event",
    "has_events",
    "has_result",
    "has_state",
    "has_status",
    "has_text",
    "has_tool_call",
    "input_for",
    "model",
    "result",
    "service",
    "set_state",
    "tool_call",
    "user",
]
