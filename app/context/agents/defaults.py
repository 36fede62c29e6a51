"""What keys stand for that a document leaves out (http-api 2), and the names that it may give."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

DESCRIPTION_CHARS_MAX = 16_384
SKILL_DESCRIPTION_CHARS_MAX = 1_024

AGENT_NAME = re.compile("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}")
SERVER_NAME = re.compile("[a-z0-9][a-z0-9_-]{0,63}")
TOOL_NAME = re.compile("[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
"""What every provider takes (wire-format notes 0.6)."""

TOOL_CHOICES = ("auto", "none", "required")

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "limits": None,
        "context": [{"renderer": "history"}],
        "tools": [],
        "state_schema": None,
        "output_schema": None,
        "skills": [],
        "plan": {"enabled": False},
        "pruning": {"trigger_fraction": 0.65, "protect_recent_tokens": 6000},
        "compaction": {"max_tokens": None, "keep_recent_tokens": None, "trigger_fraction": 0.9, "driver": {"kind": "model"}},
        "turn": {"max_steps": 25, "partial_answers": "omit"},
    }
)

TOOL_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {"description": "", "parameters": {"type": "object"}, "enabled": True, "executor": {"kind": "client"}, "approval": "never", "repeatable": False}
)
