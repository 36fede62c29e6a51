"""Failures brought about on purpose, and what may not show when they happen: secrets, prompt text, and what is inside."""

import json
import re
from contextlib import aclosing
from typing import Any
from unittest.mock import patch

from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from sqlalchemy.exc import OperationalError

from app.config.upstreams import Timeouts
from app.outbound.client import Clients
from app.outbound.egress import EgressRefused, GuardedResolver
from app.outbound.providers import Provider
from app.outbound.retry import Dispatch, RetryPolicy
from app.storage.pool import Pool
from tests.cases import processes
from tests.cases.done import Done
from tests.cases.rows import entries
from tests.cases.steps import request_of
from tests.cases.upstream import Play
from tests.database.copies import connect
from tests.outbound.kit import failures, outgoing, provider, upstream

TRIGGER = """
CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused: %', NEW.payload; END $$;
GRANT EXECUTE ON FUNCTION public.refuse() TO PUBLIC;
CREATE TRIGGER refuse BEFORE INSERT ON ledger.entries FOR EACH ROW EXECUTE FUNCTION public.refuse();
"""
"""The worst there is: the database's own message repeats what was to be stored."""


async def fault(done: Done) -> None:
    """The request, with the failure underneath it. An error that the case spells out is raised once by the pool and once by a service."""
    given = done.case.input
    done.place = await done.places.own(log_level="debug")
    done.session = await done.place.session()
    request = request_of(given["request"], {"id": done.session})
    spelled = re.fullmatch(r"OperationalError\('(.*)'\)", given["inject"])
    if spelled is None:
        connection = await connect(done.place.migrate_url)
        await connection.execute(TRIGGER)
        await connection.close()
        done.answers.append(await done.world.client.request(request.method, request.path, **request.arguments))
        return
    raised: list[Exception] = [OperationalError("SELECT 1", {}, Exception(spelled[1])), RuntimeError(spelled[1])]
    for error in raised:
        with patch.object(Pool, "_prepared", side_effect=error):
            done.answers.append(await done.world.client.request(request.method, request.path, **request.arguments))


async def log_scan(done: Done) -> None:
    """The traffic, in a process of its own, whose whole output is kept."""
    given = done.case.input
    key = next(word for line in given["traffic"] for word in line.split() if word.startswith("sk-"))
    echo = json.dumps({"error": {"message": f"Incorrect API key provided: {key}", "code": "invalid"}})
    app_url, _ = await done.places.database()
    options = {"CONTEXT_LEDGER_LOG_LEVEL": given["level"].lower(), "CONTEXT_LEDGER_RETRIES_MAX": "0"}
    async with processes.served(app_url, done.places.shared.upstream.url, key=key, **options) as served:
        for play, name in (([{"status": 500, "body": echo}], "mock"), ([], "gone")):
            model = f"scan-{name}"
            done.places.shared.upstream.plays[model] = Play(play)
            agent = await served.world.agent(model={"upstream": name, "name": model})
            session = await served.world.session(agent)
            done.answers.append(await served.world.call("POST", f"/sessions/{session}/turns", 200, json={"input": "go"}))
        done.facts["output"] = served.output()
    done.facts["sent"] = done.places.shared.upstream.plays["scan-mock"].seen[0].headers


class _Scripted(AbstractResolver):
    """A resolver that gives each look-up the next of its answers, the last one again and again."""

    def __init__(self, answers: list[list[str]]) -> None:
        self._answers = answers
        self.asked = 0

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        found = self._answers[min(self.asked, len(self._answers) - 1)]
        self.asked += 1
        return [ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0) for address in found]

    async def close(self) -> None:
        """Holds nothing."""


async def fetch_guard(done: Done) -> None:
    """Each URL as the address of an upstream: the only thing that the service fetches. `outcomes` has a list of words for each."""
    done.facts["outcomes"] = [await _looked_up(one) if "dns" in one else await _redirected(one) for one in done.case.input["cases"]]


async def _looked_up(one: Any) -> list[str]:
    """What the guard says to each of two look-ups: the addresses that may be connected to, or that it refuses."""
    guard = GuardedResolver(_Scripted(one["dns"]))
    words = []
    for _ in range(2):
        try:
            words.append(",".join(found["host"] for found in await guard.resolve("public.test", 443)))
        except EgressRefused:
            words.append("refused")
    return words


async def _redirected(one: Any) -> list[str]:
    """The host answers with redirects for as long as anybody follows them: what the call comes to, and how many requests there were."""
    (answer,) = one["responses"]

    async def redirect(request: web.Request, n: int) -> web.StreamResponse:
        return web.Response(status=answer["status"], headers={"location": answer["location"]})

    async with provider(redirect) as seen:
        to = upstream(re.sub(r"//[^:/]+", "//public.test", seen.url), timeouts=Timeouts(2, 2))
        clients = Clients(resolver=_Scripted([["127.0.0.1"]]))
        dispatch = Dispatch(Provider(clients), outgoing(to), RetryPolicy(0))
        async with aclosing(dispatch.items()) as items:
            (failed,) = failures([item async for item in items])
        await clients.aclose()
    return [failed.fault.code, str(len(seen.bodies))]


async def sql_and_http(done: Done) -> None:
    """Appends, statements as the role that the service logs in as, and a session's erasure; then the statements once more."""
    done.session = await done.place.session()
    done.facts["sql"] = []
    app = await connect(done.place.database_url)
    try:
        for step in done.case.input["steps"]:
            if "append" in step:
                await done.world.call("POST", f"/sessions/{done.session}/entries", 201, json={"entries": entries(step["append"])})
            elif "sql" in step:
                done.facts["sql"].append(await _refused(app, step["sql"]))
            elif "delete" in step:
                done.answers.append(await done.world.client.delete(f"/sessions/{done.session}"))
        done.facts["sql_after"] = [await _refused(app, step["sql"]) for step in done.case.input["steps"] if "sql" in step]
    finally:
        await app.close()


async def _refused(app: Any, sql: str) -> str:
    """The SQLSTATE with which a statement on a case's `messages` is refused; empty where it is not."""
    ours = sql.replace("messages", "ledger.entries").replace("text='x'", "payload='\"x\"'").replace("session_id=:id", "true")
    try:
        await app.execute(ours)
    except Exception as error:
        return str(getattr(error, "sqlstate", ""))
    return ""
