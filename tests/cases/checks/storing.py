"""Group h: order, cursors, repeats, concurrency, size, and what the database may not be asked for."""

import pytest

from tests.cases.checks.registry import expects
from tests.cases.done import Done
from tests.services.world import text


@expects("equal-timestamps-order", pytest.mark.req("S1-11"))
async def order_of_one_moment(done: Done) -> None:
    expected = [f"m{number}" for number in range(200)]
    listed = done.answers[-1].json()["data"]
    assert [text(entry) for entry in listed] == expected
    assert len({entry["at"] for entry in listed}) == 1
    assert [entry["seq"] for entry in listed] == list(range(listed[0]["seq"], listed[0]["seq"] + 200))
    assert [message["content"] for message in done.inputs[0]["body"]["messages"]] == expected


@expects("cursor-equal-timestamps", pytest.mark.req("X-07"))
async def pages_of_one_moment(done: Done) -> None:
    forward, backward = done.walks
    for pages in (forward, backward):
        assert [len(page["data"]) for page in pages] == [10, 10, 10, 10, 5]
        assert [page["has_more"] for page in pages] == [True] * 4 + [False]
    there, back = ([entry["seq"] for page in pages for entry in page["data"]] for pages in done.walks)
    assert there == sorted(set(there))
    assert back == there[::-1]
    for limit in ("0", "-1", "10001", "abc"):
        await done.world.call("GET", f"/sessions/{done.session}/raw", 422, params={"limit": limit})


@expects("same-text-is-not-duplicate")
async def the_same_text_twice(done: Done) -> None:
    assert [answer.status_code for answer in done.answers] == [201, 201, 201]
    assert [text(entry) for entry in await done.raw()] == ["yes", "sure?", "yes"]


@expects("idempotency-delivered-twice", pytest.mark.req("X-05"))
async def one_key_twice(done: Done) -> None:
    """Chosen: the second request attaches to the turn and gets the same answer."""
    first, second = done.answers
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json()
    assert ("idempotent-replayed" in first.headers, "idempotent-replayed" in second.headers) == (False, True)
    assert len(done.played.seen) == 1
    assert [text(entry) for entry in await done.raw()] == ["hi", "hello"]


@expects("optimistic-concurrency-conflict")
async def a_stale_version(done: Done) -> None:
    """The case's second writer comes with the version it saw, which is still the head, and moves it; only the third is stale."""
    assert [answer.status_code for answer in done.answers] == [201, 201, 412]
    stale = done.answers[2].json()
    assert (stale["code"], stale["head_seq"]) == ("head-mismatch", 3)
    assert [text(entry) for entry in await done.raw()] == ["a", "out of band"]
    entry = {"kind": "assistant_message", "parts": [{"type": "text", "text": "b"}]}
    await done.world.call("POST", f"/sessions/{done.session}/entries", 201, json={"entries": [entry]})


@expects("append-lock-convoy")
async def appends_side_by_side(done: Done) -> None:
    """The best of some rounds of each, since the machine may be busy with other things."""
    few, many = (min(p95(seconds) for seconds in done.facts["seconds"][name]) for name in ("few", "many"))
    assert many < 0.5
    assert many < 3 * few
    assert {len(sent) for sent in done.facts["statements"]["many"]} == {len(sent) for sent in done.facts["statements"]["few"]}
    assert not [one for sent in done.facts["statements"]["many"] for one in sent if "window" in one or "entries_v1" in one]


def p95(seconds: list[float]) -> float:
    """The 95th percentile of sorted times."""
    return seconds[round(len(seconds) * 0.95) - 1]


@expects("n-plus-one-projection")
async def a_long_session_in_few_statements(done: Done) -> None:
    """Inputs that follow one another are one message of this dialect: its blocks are counted."""
    (message,) = done.inputs[0]["body"]["messages"]
    assert len(message["content"]) == done.case.input["session_rows"] * done.case.input["parts_per_message"]
    assert len(done.facts["statements"]) <= 10, done.facts["statements"]
    assert done.facts["seconds"] < 3, done.facts["seconds"]


@expects("huge-events-in-list", pytest.mark.req("S1-11"))
async def a_huge_result_in_a_list(done: Done) -> None:
    """Chosen: a list asked for with `blobs=ref` names long texts by digest, size and a preview instead of cutting them."""
    appended, listed, content = done.answers
    assert appended.status_code == 201
    assert len(listed.content) < 256 * 1024
    (part,) = listed.json()["data"][-1]["body"]["parts"]
    assert part["blob"]["byte_length"] == 10_000_000
    assert content.content == b"line\n" * 2_000_000
    too_large = b'{"entries":[{"kind":"user_message","parts":[{"type":"text","text":"' + b"x" * (33 * 2**20) + b'"}]}]}'
    headers = {"content-type": "application/json"}
    refused = await done.world.client.post(f"/sessions/{done.session}/entries", content=too_large, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (413, "payload-too-large")
    assert len(await done.world.raw(done.session, blobs="ref")) == 3


@expects("append-only-trigger-blocks-purge")
async def nothing_is_changed_by_hand(done: Done) -> None:
    """The service's role has no right to change an entry, so that no statement comes as far as a trigger, after an erasure neither. Chosen:
    an erasure answers 200 with its receipt."""
    assert done.facts["sql"] == done.facts["sql_after"] == ["42501", "42501"]
    (erased,) = done.answers
    assert erased.status_code == 200, erased.text
    await done.world.call("GET", f"/sessions/{done.session}", 410)
    done.session = ""


@expects("delete-while-turn-runs")
async def an_erasure_beside_a_turn(done: Done) -> None:
    """Chosen: beside a turn it is refused; afterwards it is not."""
    turn, refused = done.answers
    assert (turn.status_code, turn.json()["status"]) == (200, "completed")
    assert (refused.status_code, refused.json()["code"]) == (409, "session-busy")
    await done.world.call("DELETE", f"/sessions/{done.session}", 200)
    await done.world.call("GET", f"/sessions/{done.session}", 410)
    assert done.played.open == 0
    done.session = ""


@expects("concurrent-migration-start")
async def several_migrations_at_once(done: Done) -> None:
    assert done.facts["killed"] == -9
    assert len(set(done.facts["reached"])) == 1
    assert len(done.facts["applied"]) == len(set(done.facts["applied"])) > 0
    assert done.facts["ready"] == [200, 200, 200, 200]
    assert (done.facts["again"], done.facts["applied_again"]) == (done.facts["reached"][0], 0)


@expects("sse-pins-db-connection")
async def streams_hold_no_connection(done: Done) -> None:
    assert [turn["status"] for turn in done.facts["turns"]] == ["completed"] * 20
    assert {status for _, status in done.facts["probes"]} <= {200, 201}
    assert max(seconds for seconds, _ in done.facts["probes"]) < 0.5
    assert max(done.facts["checked_out"]) <= 1
    assert done.facts["lingering"] == 0


@expects("ledger-untouched-by-pruning")
async def what_a_request_leaves_out_stays(done: Done) -> None:
    """An answer of sealed reasoning alone, for three models: each body is valid without it, and the ledger is what it was."""
    before, after = done.facts["digests"]
    assert before == after
    assert before[1] is True
    for found in done.inputs:
        assert found["violations"] == []
        said = found["body"].get("messages") or found["body"].get("contents") or found["body"]["input"]
        assert [one.get("role") for one in said if one.get("role") in ("assistant", "model")] == []
    assert [entry["kind"] for entry in await done.raw()] == ["user_message", "assistant_message", "user_message"]
