"""Bodies of every family come back from their JSON text as they were."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.entries import lossless
from app.entries.folds import FOLD_BODIES, Cleared, Rewound, decode_fold
from app.entries.kinds import KINDS, Family
from app.entries.messages import Answer, Message, Status, ToolResult, blobs_of, decode, encode, text_blobs, with_parts
from app.entries.parts import Blob, Media, Text, part_from_json, part_to_json
from app.entries.settings import SETTINGS_BODIES, AgentAdopted, ModelSwitched, SectionsRecorded, SessionOpened, StateChanged, decode_settings
from app.entries.trace import (
    TRACE_BODIES,
    Interruption,
    ModelCallFinished,
    ModelCallStarted,
    StopRequested,
    ToolRejected,
    ToolStarted,
    TurnError,
    TurnSettled,
    decode_trace,
    usage_from_json,
    usage_to_json,
)
from tests.entries.values import AWKWARD, json_texts, optional, parts, texts, usages

many = st.lists(parts, max_size=4).map(tuple)
maybe_count = st.none() | st.integers(0, 2**53)
errors = st.none() | st.builds(TurnError, texts, texts, st.none() | st.integers(100, 599))
calls = st.builds(
    ModelCallStarted, texts, st.integers(0, 99), texts, texts, texts, optional, maybe_count, st.sampled_from(["main", "compaction"]), optional,
    optional, optional, st.integers(0, 99), st.lists(texts, max_size=3).map(tuple), optional, maybe_count, optional,
)  # fmt: skip
ends = st.builds(
    ModelCallFinished, texts, st.sampled_from(["completed", "failed", "cancelled", "interrupted", "abandoned", "refused"]), optional,
    st.none(), st.none(), errors, st.integers(0, 9), optional, st.lists(st.dictionaries(texts, st.integers(0, 2**53)), max_size=2).map(tuple),
)  # fmt: skip
traces = st.one_of(
    calls,
    ends,
    st.builds(lambda end, usage, source: replace(end, usage=usage, usage_source=source), ends, usages, st.sampled_from(["reported", "estimated"])),
    st.builds(ToolStarted, texts, optional),
    st.builds(ToolRejected, texts, texts, texts),
    st.builds(StopRequested, st.sampled_from(["cancel", "stop", "interrupt", "disconnect", "shutdown"])),
    st.builds(Interruption, st.sampled_from(["user", "superseded", "terminated", "lease_lost"])),
    st.builds(TurnSettled, st.sampled_from(["completed", "failed", "cancelled", "interrupted"]), errors),
)


@given(parts)
def test_parts_come_back(part):
    again = part_from_json(lossless.read(lossless.dumps(part_to_json(part))))
    assert again == part


def test_an_unknown_part_is_refused():
    with pytest.raises(ValueError, match="unknown part"):
        part_from_json({"type": "hologram"})


@given(many, st.sampled_from(["user_message", "agent_message", "system_message"]))
def test_messages_come_back(found, kind):
    assert decode(kind, encode(Message(found))) == Message(found)


@given(st.builds(Answer, many, st.sampled_from(Status), optional, optional, optional))
def test_answers_come_back(answer):
    payload = encode(answer)
    payload.encode()
    assert decode("assistant_message", payload) == answer


@given(st.builds(ToolResult, texts, many, optional, st.booleans()))
def test_results_come_back(result):
    assert decode("tool_result", encode(result)) == result


@pytest.mark.parametrize("awkward", [*AWKWARD, "a" * 300_000])
def test_awkward_texts_come_back(awkward):
    body = Message((Text(awkward),))
    assert decode("user_message", encode(body)) == body


@pytest.mark.parametrize("payload", ["{}", "[]", '{"parts":[{"type":"x"}]}', '{"parts":1}', "", '{"parts":[],"status":"odd"}'])
def test_a_payload_of_another_kind_is_refused(payload):
    with pytest.raises((ValueError, KeyError, TypeError)):
        decode("assistant_message", payload)


def test_blobs_of_a_body():
    long, picture = Blob("sha256:" + "0" * 64, "text/plain", 40_000), Blob("sha256:" + "1" * 64, "image/png", 9)
    body = Message((Text("a"), Text("", long), Media("image", picture), Media("file", url="https://a/b")))
    assert blobs_of(body) == (long, picture)
    assert text_blobs(body) == (long,)
    assert with_parts(body, ()) == Message(())


@given(traces)
def test_traces_come_back(body):
    payload = body.encode()
    payload.encode()
    assert decode_trace(body.kind, payload) == body
    assert "kind" not in lossless.read(payload)


@given(
    st.builds(
        ModelSwitched,
        texts,
        texts,
        json_texts.map(lambda text: {"x": lossless.loads(text)}),
        maybe_count,
        maybe_count,
        optional,
        st.sampled_from([None, "explicit", "provider"]),
        maybe_count,
    )
)
def test_a_switched_model_comes_back(body):
    assert decode_settings("model_switched", body.encode()) == body


revisions = st.integers(1, 2**31 - 1)  # as many as the database counts


@given(st.builds(SessionOpened, texts, revisions, st.booleans()) | st.builds(AgentAdopted, texts, revisions, st.booleans(), st.booleans()))
def test_adoptions_come_back(body):
    assert decode_settings(body.kind, body.encode()) == body


@given(st.builds(SectionsRecorded, texts, revisions, st.dictionaries(texts, texts), st.lists(texts).map(tuple), st.lists(texts).map(tuple)))
def test_recorded_sections_come_back(body):
    assert decode_settings(body.kind, body.encode()) == body


@given(st.dictionaries(texts, json_texts, max_size=4))
def test_state_keeps_its_spelling(values):
    text = "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in values.items()) + "}"
    state = lossless.loads(f'{{"session":{text}}}')
    payload = StateChanged(state).encode()
    found = StateChanged.decode(payload)
    assert found.encode() == payload
    assert lossless.dumps(dict(found.state)) == lossless.dumps(state)


def test_state_as_deep_as_a_request_may_be_is_read():
    deep = lossless.loads('{"a":' * 63 + "1" + "}" * 63)
    assert StateChanged.decode(StateChanged({"session": deep}).encode()).state == {"session": deep}


@given(st.builds(Rewound, st.integers(0, 2**40), st.integers(0, 2**40)) | st.builds(Cleared, st.integers(0, 2**40)))
def test_folds_come_back(body):
    assert decode_fold(body.kind, body.encode()) == body


def test_every_body_is_of_a_kind_of_the_table_and_of_its_family():
    for table, family in ((TRACE_BODIES, Family.TRACE), (SETTINGS_BODIES, Family.SETTINGS), (FOLD_BODIES, Family.FOLD)):
        for name, body in table.items():
            assert KINDS[name].family is family
            assert body.kind == name


@pytest.mark.parametrize("read", [decode_trace, decode_settings, decode_fold])
def test_an_unknown_kind_is_not_read(read):
    with pytest.raises(KeyError):
        read("hologram", "{}")


def test_a_newer_builds_further_keys_are_passed_over():
    assert decode_trace("tool_started", '{"tool_call_id":"a","name":null,"later":1}') == ToolStarted("a")
    payload = '{"call_id":"c","step_index":0,"upstream":"u","dialect":"d","model":"m","later":1}'
    assert decode_trace("model_call_started", payload) == ModelCallStarted("c", 0, "u", "d", "m")


@given(usages, st.sampled_from(["reported", "estimated"]))
def test_usage_comes_back(usage, source):
    found = usage_to_json(usage, source)
    assert found is not None
    assert found["source"] == source
    assert usage_from_json(found) == usage


def test_unknown_usage_is_null():
    assert usage_to_json(None, None) is None
    assert usage_from_json(None) is None


def test_an_error_without_a_status_leaves_it_out():
    assert TurnError("max-steps", "x").to_json() == {"code": "max-steps", "detail": "x"}
    assert TurnError("upstream-error", "x", 503).to_json()["attempt_status"] == 503
