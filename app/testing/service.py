"""A service to run scripts against: started once, used by as many runs as one likes, also at the same time."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import httpx

from app.api.services import Services
from app.config.upstreams import SCRIPTED_DIALECT
from app.services.minting import new_uuid
from app.services.scope import SCOPES
from app.services.targets import completed
from app.testing.faults import NotStarted
from app.testing.functions import Function
from app.testing.hosting import Hosted
from app.testing.play import Opening, Player
from app.testing.run import Run
from app.testing.steps import Step
from app.testing.talk import Talk

RUN_SECONDS = 10.0


def service(*, database_url: str | None = None, config: str | Path | None = None) -> "Service":
    """The service, for as long as its `with` or `async with` block lasts.

    `database_url`: a migrated Postgres, as the app role; without one an embedded Postgres in a temporary folder, which ends and goes with
    the block. `config`: a `context-ledger.toml` with the tool servers and upstreams that the agents name. Raises `NotStarted` and
    `ConfigError`.
    """
    return Service(Hosted(database_url, None if config is None else Path(config)))


class Service:
    """Made by `service`. May be used from any event loop, or from none."""

    def __init__(self, hosted: Hosted) -> None:
        self._hosted = hosted
        self._url: str | None = None

    @property
    def url(self) -> str:
        """Where it listens: on this machine, with keys that `run` makes."""
        if self._url is None:
            raise NotStarted("The service does not run; use it inside its `with` block.")
        return self._url

    def __enter__(self) -> Self:
        try:
            self._url = self._hosted.start()
        except BaseException:
            self._hosted.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._url = None
        self._hosted.stop()

    async def __aenter__(self) -> Self:
        entering = asyncio.ensure_future(asyncio.to_thread(self.__enter__))
        try:
            return await asyncio.shield(entering)
        except asyncio.CancelledError:  # nobody will leave what was not entered, and a thread cannot be cancelled
            await asyncio.gather(entering, asyncio.to_thread(self._hosted.stop), return_exceptions=True)
            self._url = None
            raise

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    async def run(
        self,
        agent: Mapping[str, Any],
        steps: Sequence[Step],
        *,
        name: str = "agent",
        agents: Mapping[str, Mapping[str, Any]] | None = None,
        tools: Mapping[str, Function] | None = None,
        state: Mapping[str, Any] | None = None,
        user: str | None = None,
        external_id: str | None = None,
        session_id: str | None = None,
        tenant: UUID | None = None,
        scopes: Sequence[str] = SCOPES,
        dialect: str | None = None,
        timeout_seconds: float = RUN_SECONDS,
    ) -> Run:
        """Plays the steps in a session of the agent, and gives back what is there after the last one.

        `agent` is a document as `PUT /agents/{name}` takes it; its model is replaced by the script, in the wire format of its upstream
        where the service's configuration has that, else of `dialect`. `agents`: other documents by name, for agents that hand work to
        each other; they play the same script, whose model steps are the session's calls in order. `tools`: the client's own tools, by name,
        as functions that run for real: called with a call's arguments by name, they give text or what JSON can say. `state` is by scope,
        `user` and `external_id` are the session's. `tenant`: None is one of the run's own, so that runs do not meet; that of an earlier run to see
        what it left, and `session_id` to go on in its very session, with new turns: one that waits keeps the script it began with.
        `scopes` are those of the key that plays the steps.

        Raises `ValueError` for names that do not go together, and `ScriptFault`: `StepRefused` where the service refuses a step,
        `RunTimeout` after `timeout_seconds`.
        """
        if name in (agents or {}):
            raise ValueError(f"agents: {name!r} is the name of the agent that the session is of; name it otherwise by `name`")
        documents = {**(agents or {}), name: agent}
        declared = {tool.get("name") for document in documents.values() for tool in document.get("tools", ())}
        if unknown := sorted((tools or {}).keys() - declared):
            raise ValueError(f"tools: no document declares {', '.join(unknown)}")
        owner = tenant or new_uuid()
        fields = {"state": state, "user": user, "external_id": external_id}
        opening = Opening(
            owner,
            documents,
            self._dialect_of if dialect is None else lambda document: dialect,
            {key: value for key, value in fields.items() if value is not None},
            session_id,
            tools or {},
        )
        reader_key, client_key = await self._hosted.within(lambda services: _keys(services, owner, scopes))
        async with httpx.AsyncClient(base_url=self.url, timeout=None, trust_env=False) as http:
            return await Player(Talk(http, client_key), Talk(http, reader_key), steps, opening).run(timeout_seconds)

    def run_blocking(self, agent: Mapping[str, Any], steps: Sequence[Step], **options: Any) -> Run:
        """`run` for code without an event loop, with the same options."""
        return asyncio.run(self.run(agent, steps, **options))

    def _dialect_of(self, document: Mapping[str, Any]) -> str:
        """The wire format that the document's own model would be spoken to in."""
        chosen = document.get("model", {})
        upstream = completed(self._hosted.settings.upstreams).get(chosen.get("upstream", ""))
        return str(chosen.get("params", {}).get("dialect") or (upstream.dialect if upstream is not None else SCRIPTED_DIALECT))


async def _keys(services: Services, tenant: UUID, scopes: Sequence[str]) -> tuple[str, str]:
    """A key for what the kit does itself, and one with the run's scopes. Raises `Invalid` for a scope that there is not."""
    found = [(await services.keys.create(tenant, "testing", each))[1].reveal() for each in (SCOPES, scopes)]
    return found[0], found[1]
