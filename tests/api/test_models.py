"""What is known of models: the catalogue with its sources, and what the operator and providers say of their own."""

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest
from aiohttp import web

from app.config.secret import Secret
from app.config.settings import Settings
from app.config.upstreams import ModelLimits, Upstream
from app.models.catalogue import CATALOGUE
from tests.api.conftest import running, talking
from tests.outbound.kit import provider


@pytest.mark.req("S3-04", "X-44")
async def test_the_catalogue_is_shown_whole_with_dates_and_a_source_for_each_figure(client: httpx.AsyncClient) -> None:
    shown = (await client.get("/models?limit=1000")).json()
    assert shown["catalogue_date"] == "2026-11-29"
    assert not shown["has_more"]
    rows = {row["name"]: row for row in shown["data"]}
    assert set(rows) == set(CATALOGUE)
    for name, row in rows.items():
        assert row["context_window"] == CATALOGUE[name].context_window
        assert (row["source"], row["upstream"]) == ("catalogue", None)
        assert all(shown["sources"][source]["url"] for named in row["figure_sources"].values() for source in named)
    assert rows["gpt-5"]["shutdown_date"] == "2026-12-11"
    assert (rows["claude-opus-5-5"]["estimator"], rows["claude-opus-5-5"]["error_band"]) == ("heuristic:claude-4.7", 0.25)
    assert (rows["gpt-4o"]["encoding"], rows["gpt-4o"]["reasoning"]) == ("o200k_base", False)
    assert rows["claude-fable-5-2"]["max_output_tokens"] is None


async def test_pages_follow_one_another_without_gap_or_repetition(settings: Settings) -> None:
    models = {"a/b": ModelLimits(10, 5), "z": ModelLimits(10, 5, "heuristic:claude", 9)}
    upstreams = {**settings.upstreams, "one": Upstream("one", "openai-chat", models=models), "two": Upstream("two", "openai-chat", models=models)}
    async with running(replace(settings, upstreams=upstreams)) as app, talking(app) as client:
        found: list[Any] = []
        query = ""
        while True:
            page = (await client.get(f"/models?limit=7{query}")).json()
            found += page["data"]
            assert len(page["data"]) <= 7
            if not page["has_more"]:
                break
            query = f"&after={page['next']}"
    assert page["next"] is None
    names = [(row["upstream"] or "", row["name"]) for row in found]
    assert names == sorted(names)
    assert names == sorted([("", name) for name in CATALOGUE] + [(place, name) for place in ("one", "two") for name in models])
    own = found[-1]
    assert (own["source"], own["max_input_tokens"], own["estimator"], own["vendor"]) == ("operator", 9, "heuristic:claude", None)


async def house(request: web.Request, n: int) -> web.StreamResponse:
    return web.Response(text=json.dumps({"data": [{"id": "house-model", "max_model_len": 40_960}]}))


@pytest.mark.req("S3-04", "S3-07", "X-44")
async def test_what_a_server_says_at_the_start_is_listed_and_frozen_with_the_agent(settings: Settings) -> None:
    document = {"model": {"upstream": "house", "name": "house-model"}}
    async with provider(house) as seen:
        place = Upstream("house", "", seen.url, Secret("sk-1"), allow_private_network=True, preset="vllm", metadata=True)
        async with running(replace(settings, upstreams={**settings.upstreams, "house": place})) as app, talking(app) as client:
            row = (await client.get("/models?after=house/")).json()["data"][0]
            assert (row["upstream"], row["name"], row["source"], row["context_window"]) == ("house", "house-model", "provider", 40_960)
            upstreams = (await client.get("/upstreams")).json()["data"]
            assert {"name": "house", "dialect": "openai-chat", "has_key": True} in upstreams
            put = await client.put("/agents/nurse", json=document)
            assert put.status_code == 201, put.text
            assert put.json()["limits"] == {"context_window": 40_960, "max_output_tokens": 40_960, "source": "provider"}
    assert len(seen.paths) == 1
    without = replace(place, metadata=False)
    async with running(replace(settings, upstreams={**settings.upstreams, "house": without})) as app, talking(app) as client:
        assert (await client.get("/agents/nurse")).json()["limits"]["source"] == "provider", "frozen: it needs no server any more"
        refused = await client.put("/agents/other", json=document)
        assert (refused.status_code, refused.json()["code"]) == (422, "unknown-capacity")


@pytest.mark.req("S3-06")
async def test_a_server_that_does_not_answer_holds_up_no_start_and_its_models_stay_unknown(settings: Settings) -> None:
    place = Upstream("house", "", "http://127.0.0.1:9/v1", allow_private_network=True, preset="vllm", metadata=True)
    async with running(replace(settings, upstreams={**settings.upstreams, "house": place})) as app, talking(app) as client:
        assert (await client.get("/readyz")).status_code == 200
        refused = await client.put("/agents/a", json={"model": {"upstream": "house", "name": "house-model"}})
        assert (refused.status_code, refused.json()["code"]) == (422, "unknown-capacity")


@pytest.mark.req("S3-07", "X-43", "X-44")
async def test_a_limit_of_the_input_alone_is_frozen_with_agent_and_switch(client: httpx.AsyncClient) -> None:
    upstream = {"upstream": "scripted", "name": "gpt-5"}
    put = await client.put("/agents/nurse", json={"model": upstream})
    frozen = {"context_window": 400_000, "max_output_tokens": 128_000, "source": "catalogue", "max_input_tokens": 272_000}
    assert put.json()["limits"] == frozen
    session = (await client.post("/sessions", json={"agent": "nurse"})).json()["id"]
    budget = (await client.get(f"/sessions/{session}/model-input")).json()["budget"]
    assert budget["input_limit"] == 272_000 - 4_096
    switched = await client.patch(f"/sessions/{session}", json={"model": {"upstream": "scripted", "name": "gpt-5-mini"}})
    assert switched.status_code == 200, switched.text
    entries = (await client.get(f"/sessions/{session}/raw?view=ledger&kinds=model_switched")).json()["data"]
    assert entries[0]["body"]["limits"] == frozen
    again = (await client.get(f"/sessions/{session}/model-input")).json()
    assert (again["model"], again["budget"]["input_limit"]) == ("gpt-5-mini", 272_000 - 4_096)
    assert again["target_digest"] == entries[0]["body"]["target_digest"], "the target is the one that was switched to"
