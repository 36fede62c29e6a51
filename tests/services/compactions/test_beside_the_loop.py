"""A summary's request holds the text of a whole conversation: however few its messages are, nobody else waits while it is made."""

import threading
from typing import Any

import pytest

from app.services import inputs
from app.services.compactions import attempts, requests
from tests.services.compactions.long_sessions import SHORT, compact, long_session
from tests.services.world import World


@pytest.mark.parametrize("kind", ["model", "excerpt"])
async def test_what_is_made_of_a_whole_conversation_is_made_beside_the_event_loop(world: World, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    session = await long_session(world, [SHORT], turns=3, window=60_000, words="river " * 900)
    threads: dict[str, list[threading.Thread]] = {}

    def noted(module: Any, name: str) -> None:
        real = getattr(module, name)

        def noting(*given: Any, **more: Any) -> Any:
            # Other compiles are of the session, as any request: not the summary's own, and not what is weighed with a summary of any length.
            if name != "compile_context" or not given[0].messages or (given[0].checkpoint is not None and given[0].checkpoint.seq == 0):
                threads.setdefault(name, []).append(threading.current_thread())
            return real(*given, **more)

        monkeypatch.setattr(module, name, noting)

    noted(requests, "narrowed")
    noted(requests, "summary_sources")
    noted(inputs, "compile_context")
    noted(attempts, "excerpt")
    assert (await compact(world, session, keep_recent_tokens=1, driver={"kind": kind}))["outcome"] == "compacted"
    assert set(threads) == ({"narrowed", "summary_sources", "compile_context"} if kind == "model" else {"excerpt", "compile_context"})
    assert threading.current_thread() not in [thread for found in threads.values() for thread in found]
