"""A summary that a model wrote: its form, its cites, its bounds, and whatever else somebody writes."""

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.compaction.reading import SummaryRefused, check_summary, parse_summary
from app.entries.summaries import CITES_PER_FACT_MAX, FACT_CHARS_MAX, FACTS_PER_FIELD_MAX, FIELDS, SUMMARY_BYTES_MAX, Fact, Summary
from tests.context.compaction.chains import read_summary
from tests.strategies import HOSTILE, texts

pytestmark = [pytest.mark.req("X-54", "S3-32")]


def written(**facts: list[tuple[str, list[int]]]) -> str:
    return json.dumps({name: [{"text": text, "cites": cites} for text, cites in ones] for name, ones in facts.items()})


@pytest.mark.parametrize("frame", ["{}", "```json\n{}\n```", "```\n{}\n```", "```json \n\n{}\n\n  ```", "```json\n{}```", " \n{}\n "])
def test_facts_by_field_are_read_bare_and_out_of_one_fence(frame: str):
    text = frame.replace("{}", written(objective=[("Heal.", [3, 5])], next_action=[("Ask.", [9])]))
    found = read_summary(text, 3, 9)
    assert found == Summary({"objective": (Fact("Heal.", (3, 5)),), "next_action": (Fact("Ask.", (9,)),)}, 3, 9)


@pytest.mark.parametrize(
    "text",
    [
        "They spoke of pain.",
        "Here it is:\n" + written(objective=[("Heal.", [3])]),
        json.dumps({"objective": "Heal."}),
        json.dumps({"objective": ["Heal."]}),
        json.dumps({"objective": [{"text": "Heal."}]}),
        json.dumps({"objective": [{"text": "Heal.", "cites": ["3"]}]}),
        json.dumps({"objective": [{"text": "Heal.", "cites": [True]}]}),
        json.dumps({"objective": [{"text": "Heal.", "cites": [3.0]}]}),
        json.dumps({"objective": [{"text": "Heal.", "cites": [3], "more": 1}]}),
        json.dumps({"thoughts": [{"text": "Heal.", "cites": [3]}]}),
        json.dumps([{"text": "Heal.", "cites": [3]}]),
        '{"objective": [',
        "```",
        "```\n```",
        "```json",
        "```in short\n" + written(objective=[("Heal.", [3])]) + "\n```",
        "[" * 60_000,
        "null",
    ],
)
def test_words_of_another_form_are_one_fact_that_stands_for_the_whole_range(text: str):
    assert read_summary(text, 3, 9) == Summary({"summary": (Fact(text.strip()),)}, 3, 9)


@pytest.mark.parametrize("mark", ["\n", " ", "`", "```\n", "\n```json\n", '"', '\\"', "{", '{"summary":'])
@pytest.mark.parametrize("end", ["x", "```", "\n```", "}"])
def test_a_model_that_repeats_itself_holds_nobody_up(mark: str, end: str):
    text = "```json" + mark * (SUMMARY_BYTES_MAX // len(mark)) + end
    began = time.monotonic()
    assert parse_summary(text, 3, 9).facts["summary"] == (Fact(text),)
    assert time.monotonic() - began < 2


@pytest.mark.req("X-49")
@pytest.mark.parametrize("text", ["", " \n\t", "{}", written(objective=[]), written(objective=[(" ", [3])], summary=[("\n", [])])])
def test_a_blank_one_is_refused(text: str):
    with pytest.raises(SummaryRefused) as refused:
        read_summary(text, 3, 9)
    assert refused.value.reason == "blank"


@pytest.mark.parametrize("cites", [[], [2], [10], [3, 10], [-3], [10**15], [3] * (CITES_PER_FACT_MAX + 1)])
def test_a_fact_cites_what_is_covered(cites: list[int]):
    with pytest.raises(SummaryRefused) as refused:
        read_summary(written(objective=[("Heal.", cites)], summary=[("They spoke.", [3])]), 3, 9)
    assert refused.value.reason == "cites"


@pytest.mark.parametrize(
    "text",
    [
        written(objective=[("x", [3])] * (FACTS_PER_FIELD_MAX + 1)),
        written(objective=[("x" * (FACT_CHARS_MAX + 1), [3])]),
        written(**{name: [("é" * FACT_CHARS_MAX, [3])] * 4 for name in FIELDS}),
        "x" * SUMMARY_BYTES_MAX,
    ],
)
def test_beyond_its_bounds_it_is_refused(text: str):
    with pytest.raises(SummaryRefused) as refused:
        read_summary(text, 3, 9)
    assert refused.value.reason == "too_long"


def test_within_its_bounds_it_is_taken():
    assert len(read_summary(written(objective=[("x" * FACT_CHARS_MAX, [3] * CITES_PER_FACT_MAX)]), 3, 9).facts["objective"]) == 1
    assert len(read_summary(written(objective=[("x", [3])] * FACTS_PER_FIELD_MAX), 3, 9).facts["objective"]) == FACTS_PER_FIELD_MAX
    assert len(read_summary("x" * (SUMMARY_BYTES_MAX - 200), 3, 9).canonical) <= SUMMARY_BYTES_MAX, "prose is bounded as a whole alone"


def test_the_form_is_read_before_cites_and_bounds_are_asked_for():
    found = parse_summary(written(objective=[("Heal.", [99])]), 3, 9)
    assert found.facts["objective"] == (Fact("Heal.", (99,)),)
    with pytest.raises(SummaryRefused):
        check_summary(found)


facts = st.lists(st.fixed_dictionaries({"text": texts, "cites": st.lists(st.integers(1, 12))}))
values = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner))


@settings(max_examples=1_000, deadline=None)
@given(st.text() | st.sampled_from(HOSTILE) | values.map(json.dumps) | st.dictionaries(st.sampled_from(FIELDS), facts).map(json.dumps))
def test_any_text_is_a_summary_within_bounds_or_refused(text: str):
    found = None
    with suppress(SummaryRefused):
        found = read_summary(text, 3, 9)
    if found is None:
        return
    assert check_summary(Summary.from_json(found.to_json())) == found
    assert all(3 <= seq <= 9 for facts in found.facts.values() for fact in facts for seq in fact.cites)
    assert any(fact.text.strip() for facts in found.facts.values() for fact in facts)
    assert len(found.canonical) <= SUMMARY_BYTES_MAX
