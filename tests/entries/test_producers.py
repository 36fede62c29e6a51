"""Who made a block: its text, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.entries.producers import IMPORT_ACCOUNT, Producer, imported_producer, read_producer

names = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,9}", fullmatch=True)
models = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30).filter(lambda name: "#sha256:" not in name)
prefixes = st.one_of(st.just(""), st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True))


@pytest.mark.req("X-23")
@given(st.builds(Producer, names, names, models, prefixes))
def test_a_producer_comes_back_from_its_text(producer):
    assert read_producer(str(producer)) == producer


@pytest.mark.parametrize("text", ["", "openai-chat", "a/b", "a//c", "/b/c", "a/b/"])
def test_a_text_of_another_form_names_nobody(text):
    assert read_producer(text) is None


@pytest.mark.req("X-23")
@given(st.text(min_size=1), st.none() | models)
def test_a_producer_of_an_import_has_a_model_and_no_account_of_anybody(dialect, model):
    found = read_producer(imported_producer(dialect, model))
    assert found is not None
    assert (found.account, found.model) == (IMPORT_ACCOUNT, model or "unknown")
