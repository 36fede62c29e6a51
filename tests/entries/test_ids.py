"""TypeIDs and blob names."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.entries.ids import CALL, CHECKPOINT, SESSION, TURN, format_id, is_blob_digest, parse_id


@given(st.uuids(), st.sampled_from([SESSION, TURN, CALL, CHECKPOINT]))
def test_ids_come_back_and_only_under_their_prefix(uuid, prefix):
    text = format_id(prefix, uuid)
    assert len(text) == len(prefix) + 27
    assert parse_id(prefix, text) == uuid
    assert all(parse_id(other, text) is None for other in (SESSION, TURN, CALL, CHECKPOINT) if other != prefix)


@given(st.uuids(), st.uuids())
def test_ids_sort_as_their_uuids(one, other):
    assert (format_id(TURN, one) < format_id(TURN, other)) == (one.int < other.int)


def test_the_examples_of_the_specification():
    assert format_id("prefix", UUID("01890a5d-ac96-774b-bcce-b302099a8057")) == "prefix_01h455vb4pex5vsknk084sn02q"
    assert format_id("x", UUID(int=0)) == "x_" + "0" * 26
    assert format_id("x", UUID(int=2**128 - 1)) == "x_7" + "z" * 25


@given(st.text(max_size=40) | st.from_regex(r"ses_[0-9a-z]{25,27}", fullmatch=True))
def test_whatever_parses_is_spelled_that_way_and_no_other(text):
    uuid = parse_id(SESSION, text)
    assert uuid is None or format_id(SESSION, uuid) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ses_",
        "ses_8zzzzzzzzzzzzzzzzzzzzzzzzz",
        "ses_01h455vb4pex5vsknk084sn02Q",
        "01h455vb4pex5vsknk084sn02q",
        "ses_ses_01h455vb4pex5vsknk084sn02q",
    ],
)
def test_other_texts_are_no_ids(text):
    assert parse_id(SESSION, text) is None


def test_blob_names():
    assert is_blob_digest("sha256:" + "0f" * 32)
    for text in ("sha256:" + "0F" * 32, "0f" * 32, "sha256:" + "0f" * 32 + "\n", "md5:00", ""):
        assert not is_blob_digest(text)
