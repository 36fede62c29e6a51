"""The Entry resource: stored fragments, joined."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given

from app.entries import lossless
from app.entries.messages import Entry
from app.entries.wire import entry_json, read_timestamp, timestamp
from tests.entries.values import json_texts

AT = datetime(2026, 11, 29, 12, 0, 0, 5, tzinfo=UTC)


def entry(**more):
    facts: dict[str, Any] = {
        "seq": 3, "kind": "user_message", "version": 1, "turn": None, "message_index": None, "agent": None, "invocation": 0, "tokens": 7,
        "hidden": False, "include_in_context": True, "attributes": None, "payload": None, "payload_digest": b"", "digest": b"\x01\xff",
        "at": None, "recorded_at": AT,
    }  # fmt: skip
    return Entry(**(facts | more))


@given(json_texts, json_texts)
def test_bodies_and_attributes_are_not_spelled_again(payload, attributes):
    text = entry_json(entry(payload=payload, attributes=attributes))
    assert text.endswith(f'"attributes":{attributes},"body":{payload}}}')
    lossless.loads(text)


def test_all_fields_of_the_contract():
    found = lossless.loads(entry_json(entry(turn=2, message_index=0, agent='tri"age', at=datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=1))))))
    assert found == {
        "seq": 3, "kind": "user_message", "turn": 2, "message_index": 0, "agent": 'tri"age', "invocation": 0, "at": "2019-12-31T23:00:00.000000Z",
        "digest": "sha256:01ff", "tokens": 7, "hidden": False, "include_in_context": True, "attributes": {}, "body": None,
    }  # fmt: skip


def test_a_body_with_its_blobs_inline_replaces_the_stored_one():
    assert lossless.loads(entry_json(entry(payload='{"a":1}'), '{"a":2}'))["body"] == {"a": 2}


def test_times_are_rfc_3339_in_utc():
    assert timestamp(AT) == "2026-11-29T12:00:00.000005Z"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-29T12:00:00.000005Z", AT),
        ("2026-11-29T13:00:00.000005+01:00", AT),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
        ("0001-01-01T00:00:00+00:01", None),
        ("9999-12-31T23:59:59-00:01", None),
        ("2026-11-29T12:00:00", None),
        ("2026-11-29T25:00:00Z", None),
        ("", None),
        (None, None),
        (1700000000, None),
    ],
)
def test_a_time_is_read_where_it_names_a_moment_that_can_be_kept(text, at):
    assert read_timestamp(text) == at
    assert at is None or read_timestamp(timestamp(at)) == at
