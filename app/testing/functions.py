"""The client's own tools, run for real: functions of the test's process that answer calls which wait for the client."""

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]
"""Takes a call's arguments by name; gives text, or what JSON can say. May be a coroutine function."""


async def ran(function: Function, arguments: str) -> tuple[str, bool]:
    """What the function gives for a call, as text, and whether it is an error.

    What it raises is an error result, as a client would tell the model, but for assertions, which are the test's. A plain function runs
    in a thread, so that a slow one does not hold up the limit of the run.
    """
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return "The arguments are no JSON object.", True
    try:
        found = await (function(**given) if inspect.iscoroutinefunction(function) else asyncio.to_thread(function, **given))
        return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False), False
    except AssertionError:
        raise
    except Exception as error:
        return f"{type(error).__name__}: {error}", True
