"""What a case needs that is not built yet, looked up in the service: a reason to skip holds for exactly as long as it is true."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.api.app import OPERATIONS
from app.context.agents.check import check_document
from app.context.renderers import RENDERERS
from app.formats.registry import FORMATS
from tests.cases.notation import Case, dialect_of
from tests.services.world import LIMITS


@dataclass(frozen=True, slots=True)
class Need:
    """Something of the contract, as a test's reason names it, and how to see whether it is there."""

    name: str
    built: Callable[[], bool]


def dialect(name: str) -> Need:
    """A wire format."""
    return Need(f"the dialect {name}", lambda: name in FORMATS)


def route(method: str, path: str) -> Need:
    """A route."""
    return Need(f"{method} {path}", lambda: any((one.method, one.path) == (method, path) for one in OPERATIONS))


def renderer(name: str) -> Need:
    """A renderer."""
    return Need(f"the renderer {name}", lambda: name in RENDERERS)


def document(name: str, **keys: Any) -> Need:
    """Something that an agent's document may say."""
    model = {"upstream": "scripted", "name": "scripted"}
    return Need(name, lambda: not check_document({"model": model, "limits": LIMITS, **keys}))


COMPACTION = route("POST", "/sessions/{session_id}/compactions")
ERASURE = route("DELETE", "/sessions/{session_id}")
TEMPLATES = document("templates in system sections", context=[{"renderer": "system", "template": "{{ agent.name }}"}])
SELECTION = renderer("select_recent")

NEEDS: Mapping[str, tuple[Need, ...]] = {
    "trim-orphans-tool-result": (COMPACTION,),
    "trim-keeps-call-loses-one-parallel-result": (COMPACTION,),
    "trim-last-window-starts-with-tool": (SELECTION,),
    "synthetic-result-outlives-its-call": (COMPACTION,),
    "compaction-also-hits-surrogate": (COMPACTION,),
    "delete-while-turn-runs": (ERASURE,),
    "ledger-untouched-by-pruning": (),
    "overhead-not-in-trigger": (),
}
"""Needs beside the dialects that a case names. They stand in place of those of its whole group."""

OF_GROUP: Mapping[str, tuple[Need, ...]] = {"g": (COMPACTION,), "j": (TEMPLATES,)}


def missing(case: Case) -> list[str]:
    """What the case needs and is not there, in words; empty where it can run."""
    needs = [*NEEDS.get(case.id, OF_GROUP.get(case.group, ())), *map(dialect, sorted(_dialects(case)))]
    return [need.name for need in needs if not need.built()]


def _dialects(case: Case) -> set[str]:
    return case.dialects or ({dialect_of(case.provider)} - {"any"})
