"""The keys `pruning` and `compaction`: what becomes of long sessions."""

from collections.abc import Mapping
from typing import Any, get_args

from app.context.agents.defaults import DEFAULTS
from app.context.fields import Check
from app.context.model_params import TOKENS_MAX, check_model
from app.entries.compactions import DriverKind


def check_pruning(check: Check, value: Any) -> None:
    """A fraction of the input limit, and tokens of tool results."""
    found = check.object(value, "/pruning", tuple(DEFAULTS["pruning"]))
    if found is not None:
        _fraction(check, found, "/pruning")
        check.integer(found.get("protect_recent_tokens", 0), "/pruning/protect_recent_tokens", 0, TOKENS_MAX)


def check_compaction(check: Check, value: Any) -> None:
    """Marks in tokens (None: from the window), a fraction, and the driver. Whether the driver's model has a known capacity is asked elsewhere."""
    found = check.object(value, "/compaction", tuple(DEFAULTS["compaction"]))
    if found is None:
        return
    for key in ("max_tokens", "keep_recent_tokens"):
        if found.get(key) is not None:
            check.integer(found[key], f"/compaction/{key}", 1, TOKENS_MAX)
    _fraction(check, found, "/compaction")
    check_driver(check, found.get("driver", {"kind": "model"}), "/compaction/driver")


def check_driver(check: Check, value: Any, pointer: str) -> None:
    """`{"kind": "model", "model"?: {upstream, name, params?}, "fallback"?: "excerpt"}` or `{"kind": "excerpt"}`."""
    kind = value.get("kind", "model") if isinstance(value, Mapping) else "model"
    found = check.object(value, pointer, ("kind", "model", "fallback") if kind == "model" else ("kind",), ("kind",))
    if found is None:
        return
    check.word(kind, f"{pointer}/kind", get_args(DriverKind))
    if found.get("model") is not None:
        check_model(check, found["model"], f"{pointer}/model")
    if found.get("fallback") is not None:
        check.word(found["fallback"], f"{pointer}/fallback", ("excerpt",))


def _fraction(check: Check, found: Mapping[str, Any], pointer: str) -> None:
    """Above 0 and at most 1."""
    given = found.get("trigger_fraction", 1)
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        check.fault(f"{pointer}/trigger_fraction", "bad-type", "This has to be a number.")
    elif not 0 < given <= 1:
        check.fault(f"{pointer}/trigger_fraction", "out-of-range", "A fraction of the input limit: above 0 and at most 1.")
