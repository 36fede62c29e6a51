"""Answers under idempotency keys that were made before a redaction and are kept behind it: none of them brings a word back."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fastapi import FastAPI

from tests.services.test_erased_forks import fork_of
from tests.services.test_redactions import INPUT, redact, seq_of, spoken
from tests.services.traces import tables_with
from tests.services.world import World

KEYED: dict[str, Any] = {"headers": {"idempotency-key": "k"}}


def overtaken(monkeypatch: pytest.MonkeyPatch, service: Any, name: str, by: Callable[[], Awaitable[Any]]) -> None:
    """Lets something happen once the service has made its answer, and before that is kept."""
    make = getattr(service, name)

    async def made(*given: Any) -> Any:
        answer = await make(*given)
        await by()
        return answer

    monkeypatch.setattr(service, name, made)


@pytest.mark.parametrize("forked", [False, True])
async def test_words_are_not_kept(app: FastAPI, world: World, monkeypatch: pytest.MonkeyPatch, migrate_url: str, forked: bool) -> None:
    parent = await spoken(world)
    session, seq = await fork_of(world, parent) if forked else parent, await seq_of(world, parent, "user_message")
    path, asked = f"/sessions/{session}/model-input", {"json": {"input": "and now?"}, **KEYED}
    with monkeypatch.context() as patched:
        overtaken(patched, app.state.services.inputs, "model_input", lambda: redact(world, parent, seq))
        assert INPUT in (await world.call("POST", path, 200, **asked)).text
    assert await tables_with(migrate_url, INPUT) == set()
    again = await world.call("POST", path, 200, **asked)
    assert ("idempotent-replayed" in again.headers, INPUT in again.text) == (False, False)
    kept = await world.call("POST", path, 200, **asked)
    assert (kept.headers["idempotent-replayed"], kept.text) == ("true", again.text)


async def test_a_compaction_is_not_done_again(app: FastAPI, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await spoken(world)
    seq = await seq_of(world, session, "user_message")
    path, asked = f"/sessions/{session}/compactions", {"json": {"driver": {"kind": "excerpt"}, "keep_recent_tokens": 1}, **KEYED}
    with monkeypatch.context() as patched:
        overtaken(patched, app.state.services.compactions, "compact", lambda: redact(world, session, seq))
        first = await world.call("POST", path, 200, **asked)
    again = await world.call("POST", path, 200, **asked)
    assert (again.headers.get("idempotent-replayed"), again.text) == ("true", first.text)


async def test_a_redaction_answers_the_same_again_also_behind_another(world: World) -> None:
    session = await spoken(world)
    first, second = [await seq_of(world, session, kind) for kind in ("user_message", "tool_result")]
    receipt = await redact(world, session, first, **KEYED)
    assert await redact(world, session, first, **KEYED) == receipt
    await redact(world, session, second, **KEYED)
    assert await redact(world, session, first, **KEYED) == receipt
