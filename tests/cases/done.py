"""What came of a case: everything that a check may look at."""

from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.cases.notation import Case
from tests.cases.place import Place, Places
from tests.cases.upstream import Play
from tests.services.world import Frame, World


@dataclass(slots=True)
class Done:
    """`answers` in the order of the requests, `inputs` the model inputs in the order of the projections, `frames` what a client saw."""

    case: Case
    places: Places
    place: Place
    session: str = ""
    answers: list[httpx.Response] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    walks: list[list[Any]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    turn: Any = None
    play: Play | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def world(self) -> World:
        return self.place.world

    @property
    def played(self) -> Play:
        assert self.play is not None
        return self.play

    async def raw(self) -> list[Any]:
        """The transcript."""
        return await self.world.raw(self.session)

    async def answered(self) -> list[Any]:
        """The assistant messages of the transcript."""
        return [entry for entry in await self.raw() if entry["kind"] == "assistant_message"]
