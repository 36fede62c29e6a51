"""JSON comes back as it came."""

import contextlib
import json
import pickle
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.entries import lossless
from app.entries.lossless import InvalidJson, Number
from tests.entries.values import AWKWARD, json_texts, numbers, texts


def exactly(text: str) -> Any:
    """What a text says, told apart as finely as JSON allows: an independent reader that keeps spellings and the order of keys."""
    return json.loads(text, parse_int=lambda n: ("number", n), parse_float=lambda n: ("number", n), object_pairs_hook=lambda pairs: ("object", pairs))


@example("1e-07")
@example("1e+16")
@example("1E5")
@example("-0")
@example("-0.0")
@example("1.0")
@example("9223372036854775807")
@example("18446744073709551616")
@example("123456789012345678901234567890")
@example("0.1000")
@example("1e999")
@example("123456789.123456789123456789")
@given(numbers)
def test_numbers_keep_their_spelling(text):
    for document in (text, f"[{text}]", f'{{"a":{text},"b":"\\ud800"}}'):
        assert exactly(lossless.dumps(lossless.loads(document))) == exactly(document)


@given(json_texts)
def test_documents_come_back_as_they_came(text):
    again = lossless.dumps(lossless.loads(text))
    assert exactly(again) == exactly(text)
    assert lossless.dumps(lossless.loads(again)) == again
    assert "\n" not in again
    again.encode()


@given(json_texts)
def test_bytes_and_text_say_the_same(text):
    assert lossless.dumps(lossless.loads(text.encode())) == lossless.dumps(lossless.loads(text))


@given(st.lists(texts))
def test_strings_keep_every_code_point(strings):
    assert lossless.loads(lossless.dumps(strings)) == strings
    assert lossless.read(lossless.dumps(strings)) == strings


@pytest.mark.parametrize("awkward", AWKWARD)
def test_awkward_strings(awkward):
    text = lossless.dumps({awkward: awkward})
    text.encode()
    assert lossless.loads(text) == {awkward: awkward} == lossless.read(text)


def test_a_long_string_and_a_long_number():
    long = "a\u2028" * 150_000
    assert lossless.loads(lossless.dumps([long])) == [long]
    digits = "9" * 100_000
    assert lossless.dumps(lossless.loads(digits)) == digits


def test_keys_keep_their_order():
    assert lossless.dumps(lossless.loads('{"z":1,"a":1.0,"m":{"y":1e2,"b":[]}}')) == '{"z":1,"a":1.0,"m":{"y":1e2,"b":[]}}'


def test_a_kept_number_is_a_number():
    found = lossless.loads("1e2")
    assert isinstance(found, Number)
    assert (found, found + 1, repr(found)) == (100.0, 101.0, "1e2")
    again = pickle.loads(pickle.dumps(found))
    assert (again, again.text) == (100.0, "1e2")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a":1,"a":2}', "duplicate-key"),
        ('{"a":1,"\\u0061":2}', "duplicate-key"),
        ('[{"b":{"a":1,"a":1}}]', "duplicate-key"),
        ("NaN", "not-finite"),
        ("[-Infinity]", "not-finite"),
        ("", "invalid-json"),
        ("{", "invalid-json"),
        ("[1,]", "invalid-json"),
        ("01", "invalid-json"),
        ("1 2", "invalid-json"),
        ("'a'", "invalid-json"),
        ('"\x01"', "invalid-json"),
        ("[" * 65 + "]" * 65, "too-deep"),
        ('{"a":' * 100_000, "too-deep"),
    ],
)
def test_what_is_no_json_is_refused(text, code):
    with pytest.raises(InvalidJson) as caught:
        lossless.loads(text)
    assert caught.value.code == code


@pytest.mark.parametrize("mark", ['\\"', '"', "\\", '\\\\"', '" "'])
@pytest.mark.parametrize("end", ["", "\\", '"', "]"])
def test_a_string_that_does_not_end_holds_nobody_up(mark: str, end: str):
    text = "[" + "[]," * 100 + '"' + mark * 100_000 + end
    began = time.monotonic()
    with contextlib.suppress(InvalidJson):
        lossless.loads(text)
    assert time.monotonic() - began < 5


def test_what_is_not_utf8_is_refused():
    for data in (b'"\xff"', b'"\xed\xa0\x80"', b"\xff\xfe[\x00]\x00"):
        with pytest.raises(InvalidJson):
            lossless.loads(data)


@pytest.mark.parametrize("text", ["[" * 64 + "]" * 64, '"' + "[" * 100 + '"', '["\\"[[[[[[", {"a": "{{{{"}]', '"\\\\"'])
def test_depth_counts_what_nests_and_not_what_strings_hold(text):
    lossless.loads(text)


@given(st.text(max_size=40) | st.binary(max_size=40))
def test_anything_is_read_or_refused(data):
    with contextlib.suppress(InvalidJson):  # anything else that is raised fails the test
        lossless.loads(data)
