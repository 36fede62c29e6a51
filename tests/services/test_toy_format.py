"""A sixth format: a folder's worth of functions and one row of the registry, and the whole service speaks it."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from app.config.settings import Settings
from app.context.draft import NeutralRequest
from app.entries.deltas import Delta, Finished, StreamFailed, TextDelta
from app.entries.parts import Text
from app.formats import registry
from app.formats.protocols import Format, Pointer, UpstreamFault, Violation, Written
from app.models.wire_rules import WireRules
from tests.api.conftest import running, talking
from tests.services.world import World

RULES = WireRules(images=False)


class Lines:
    """One text a line; an empty line ends the answer."""

    def __init__(self, producer: str = "") -> None:
        self._held = b""

    def feed(self, data: bytes) -> list[Delta]:
        *lines, self._held = (self._held + data).split(b"\n")
        return [TextDelta(0, line.decode()) if line else Finished("finished") for line in lines]

    def end(self) -> list[Delta]:
        return [StreamFailed("stream-truncated", "The stream ended.")]


class LineWriter:
    def __init__(self, model: str, stream_id: str, created: int) -> None:
        self._done = False

    def write(self, delta: Delta) -> bytes:
        self._done = self._done or isinstance(delta, Finished)
        return f"{delta.text}\n".encode() if isinstance(delta, TextDelta) else b""

    def end(self) -> bytes:
        return b"\n" if self._done else b""


def write_request(request: NeutralRequest, blobs: Mapping[str, bytes]) -> Written:
    said = [[message.role, *(part.text for part in message.parts if isinstance(part, Text))] for message in request.messages]
    document = {"model": request.target.model.name, "said": said}
    pointers = tuple(Pointer(f"/said/{index}", index) for index in range(len(said)))
    return Written(json.dumps(document).encode(), document, lambda: pointers)


def validate(body: Mapping[str, Any], rules: WireRules = RULES) -> list[Violation]:
    return [] if body.get("said") else [Violation("/said", "said-missing", "`said` is a list of at least one line.")]


TOY = Format(
    "toy",
    lambda model: f"/{model}",
    lambda model: RULES,
    write_request,
    Lines,
    LineWriter,
    lambda status, headers, body: UpstreamFault("upstream-error", f"The toy answered {status}.", http_status=status),
    lambda status, code: b"",
    validate,
    prompt_order=("said",),
)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry with one more row, where everything that reads it finds it."""
    table = MappingProxyType({**registry.FORMATS, TOY.dialect: TOY})
    for module in _readers():
        monkeypatch.setattr(module, "FORMATS", table)


def _readers() -> list[Any]:
    return [module for name, module in sys.modules.items() if name.startswith("app.") and getattr(module, "FORMATS", None) is registry.FORMATS]


@pytest.mark.req("S0-25")
async def test_a_new_format_is_a_row_of_the_registry(toy: None, settings: Settings) -> None:
    async with running(replace(settings)) as app, talking(app) as client:
        world = World(client)
        model = {"upstream": "scripted", "name": "m", "params": {"dialect": "toy", "script": [{"text": "Seven."}]}}
        session = await world.session(await world.agent(model=model))
        turn = await world.turn(session, "how many?")
        assert turn["status"] == "completed"
        found = await world.input(session)
        assert (found["dialect"], found["body"]["said"]) == ("toy", [["user", "how many?"], ["assistant", "Seven."]])
        assert found["source_map"]["pointers"][1] == {"pointer": "/said/1", "source": 1, "seq": 4, "part": None}
        (call,) = (await world.call("GET", f"/sessions/{session}/calls", 200)).json()["data"]
        seen = (await world.call("GET", f"/sessions/{session}/calls/{call['id']}/model-input", 200)).json()
        assert seen["verified"] is True
        judged = await world.call("POST", "/validate/toy", 200, json={"said": []})
        assert [violation["code"] for violation in judged.json()["violations"]] == ["said-missing"]
        other = await world.input(session, dialect="openai-chat")
        assert other["body"]["messages"][-1]["content"] == "Seven."
