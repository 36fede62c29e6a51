"""Schemas that are made to take for ever take a moment, and nobody else waits for them."""

import asyncio
import time

import pytest

from app.config.limits import SCHEMA_CHECK_MS_MAX
from app.context.schemas import pattern_properties
from app.services.bounded_schemas import SchemaChecker
from app.services.schema_faults import schema_faults
from tests.services.world import World

DOUBLING = {f"n{n}": {"anyOf": [{"$ref": f"#/$defs/n{n + 1}"}, {"$ref": f"#/$defs/n{n + 1}"}]} for n in range(60)} | {"n60": {"type": "null"}}


@pytest.mark.parametrize(
    ("schema", "document"),
    [
        ({"type": "string", "pattern": "^(a|aa)+$"}, "a" * 60 + "!"),
        ({"$ref": "#/$defs/n0", "$defs": DOUBLING}, 1),
        ({"allOf": [{"$ref": "#"}]}, 1),
    ],
    ids=["a pattern", "references that double", "a reference to itself"],
)
def test_a_check_that_takes_too_long_is_given_up(schema, document):
    begun = time.monotonic()
    faults = schema_faults(SchemaChecker(schema), document)
    assert [fault.code for fault in faults][-1:] == ["too-slow"]
    assert time.monotonic() - begun < 4 * SCHEMA_CHECK_MS_MAX / 1000


def test_a_long_list_of_objects_is_looked_through_once():
    checker = SchemaChecker({"uniqueItems": True})
    many = [{"n": n} for n in range(20_000)]
    begun = time.monotonic()
    assert schema_faults(checker, many) == []
    assert [fault.code for fault in schema_faults(checker, [*many, {"n": 7.0}])] == ["duplicate"]
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(("text", "fits"), [("ab", True), ("ab\n", False), ("xab", False)])
def test_a_pattern_means_what_it_means_in_json_schema(text, fits):
    assert (schema_faults(SchemaChecker({"pattern": "^ab$"}), text) == []) is fits


def test_patterns_of_names_are_found_where_they_are_keywords():
    schema = {"properties": {"patternProperties": {"type": "object"}, "a": {"patternProperties": {"^x": {}}}}, "const": {"patternProperties": {}}}
    assert [fault.pointer for fault in pattern_properties(schema, "")] == ["/properties/a/patternProperties"]


async def test_a_slow_schema_keeps_nobody_waiting(world: World) -> None:
    schema = {"session": {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a|aa)+$"}}}}
    session = await world.session(await world.agent(state_schema=schema))
    loop, worst = asyncio.get_running_loop(), 0.0
    slow = asyncio.create_task(world.client.patch(f"/sessions/{session}/state", json={"session": {"x": "a" * 60 + "!"}}))
    while not slow.done():
        begun = loop.time()
        await asyncio.sleep(0.01)
        worst = max(worst, loop.time() - begun)
    answer = slow.result()
    assert (answer.status_code, [fault["code"] for fault in answer.json()["errors"]]) == (422, ["too-slow"])
    assert worst < SCHEMA_CHECK_MS_MAX / 1000 / 2
    await world.call("PATCH", f"/sessions/{session}/state", 200, json={"session": {"x": "aaa"}})
