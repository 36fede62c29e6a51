"""Templates: what they give, what they may name, and that nothing else can be reached, however it is asked for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.templates.grammar import SECRET, SYNTAX, UNKNOWN
from app.context.templates.render import RenderFailedError, holds, refused, rendered, vocabulary
from tests.context.templates.vocabulary import VALUES, WORDS, document_faults
from tests.strategies import HOSTILE


@pytest.mark.req("S4-41", "S4-42", "S4-43", "S4-45")
@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hi {{ state.name }}!", "Hi Ada!"),
        ("{{ state.session.name }} {{ state.user.language }} {{ state['name'] }}", "Ada fr Ada"),
        ("{{ session.id }} {{ session.agent }} {{ agent.name }} {{ agent.revision }}", "ses_1 nurse nurse 2"),
        ("{{ output_schema }}", '{"type":"object"}'),
        ("[{{ state.plain }}]", "[]"),
        ("{{ state.plain is none }} {{ state.plain is defined }} {{ state.name is string }}", "true false true"),
        ("{% for one in state.list %}{{ loop.index }}={{ one.drug }}{% if not loop.last %}, {% endif %}{% endfor %}", "1=a, 2=b"),
        ("{% for one in state.plain %}x{% else %}none{% endfor %}", "none"),
        ("{% for one in state.name %}x{% endfor %}", ""),
        ("{% if state.age > 40 and state.name == 'Ada' %}a{% elif state.age %}b{% else %}c{% endif %}", "a"),
        ("{{ 'x' if state.plain }}{{ 'y' if state.name != 'Bob' else 'z' }}", "y"),
        ("{{ state.name < 3 }} {{ state.age >= -1 }} {{ 'd' in state.name }} {{ 'Ada' not in ['Ada'] }}", "false true true false"),
        ("{{ state.name|upper }} {{ state.name|lower }} {{ ' x '|trim }} {{ state.name|length }}", "ADA ada x 3"),
        ("{{ state.plain|default('none') }} {{ ''|default('blank', true) }} {{ ''|default('b', boolean=true) }}", "none blank b"),
        ("{{ ['a', 2, none]|join('; ') }} {{ state.age|round }} {{ state.age|round(1) }} {{ state.notes|tojson }}", "a; 2;  42 41.5 null"),
        ("{{ [1, 2]|first }} {{ state.name|last }} {{ state.list[1].drug }}{{ state.list[9].drug }}", "1 a b"),
        ("{{ state.notes.anything }}{{ state.either.left }}{{ state.ward.floor }}", "3"),
        ("{{ '{{' }} literal {% raw %}{{ state.pin }}{% endraw %} { single } %s ${x} {0}", "{{ literal {{ state.pin }} { single } %s ${x} {0}"),
        ("{# nobody sees this #}ends with a line\n", "ends with a line\n"),
        ("{{ true }} {{ 1.5 }} {{ [1, 'a'] }}", 'true 1.5 [1,"a"]'),
    ],
)
def test_what_a_template_gives(template: str, text: str):
    assert rendered(template, WORDS, VALUES) == text
    assert document_faults(template, output_schema={"type": "object"}) == []


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("state.name is not none", True),
        ("state.plain is not none", False),
        ("state.age > 40 and not state.plain", True),
        ("state.name in ['Bob', 'Eve']", False),
        ("state.name", True),
        ("state.plain or state.age == 1", False),
    ],
)
def test_when_a_condition_holds(condition: str, met: bool):
    assert holds(condition, WORDS, VALUES) is met


@pytest.mark.req("S4-44", "T-25")
@pytest.mark.parametrize(
    ("template", "code", "word"),
    [
        ("{{ state.nmae }}", UNKNOWN, "nmae"),
        ("{{ state.user.langauge }}", UNKNOWN, "langauge"),
        ("{{ state.ward.flor }}", UNKNOWN, "flor"),
        ("{% for one in state.list %}{{ one.dose }}{% endfor %}", UNKNOWN, "dose"),
        ("{{ state.temp.x }}", UNKNOWN, "temp"),
        ("{{ state }}", UNKNOWN, "state"),
        ("{{ name }}", UNKNOWN, "name"),
        ("{{ session.user }}", UNKNOWN, "user"),
        ("{{ one }}{% for one in state.list %}{% endfor %}", UNKNOWN, "one"),
        ("{{ message.text }}", UNKNOWN, "message"),
        ("{{ state.pin }}", SECRET, "pin"),
        ("{{ state.session.pin }}", SECRET, "pin"),
        ("{{ state['pin'] }}", SECRET, "pin"),
        ("{{ state.vault.inner }}", SECRET, "vault"),
        ("{{ state.ward }}", SECRET, "ward"),
        ("{{ state.ward|tojson }}", SECRET, "ward"),
        ("{{ state.ward.code }}", SECRET, "code"),
        ("{{ state.session }}", SECRET, "session"),
        ("{{ state.user.key }}", SECRET, "key"),
        ("{{ state.either.right }}", SECRET, "right"),
        ("{{ state.list }}", SECRET, "list"),
        ("{{ state.list[0] }}", SECRET, "list"),
        ("{% for one in state.list %}{{ one }}{% endfor %}", SECRET, "one"),
        ("{% for one in state.list %}{{ one.price }}{% endfor %}", SECRET, "price"),
        ("{% if state.pin == 'a' %}{% endif %}", SECRET, "pin"),
        ("{{ 'x' if state.pin }}", SECRET, "pin"),
        ("{{ state.pin|length }}", SECRET, "pin"),
        ("{{ [state.pin]|join }}", SECRET, "pin"),
        ("{{ 'a' in state.pin }}", SECRET, "pin"),
        ("{{ state.name", SYNTAX, "Line 1"),
        ("{% if state.name %}", SYNTAX, "Line 1"),
        ("{{ state.name? }}", SYNTAX, "Line 1"),
        ("a\n{% frob %}", SYNTAX, "Line 2"),
        ("{{ state.name ~ 'x' }}", SYNTAX, "concat"),
        ("{{ 1 < 2 < 3 }}", SYNTAX, "two values"),
        ("{{ state.list[loop.index] }}", SYNTAX, "plain key"),
        ("{% for x in state.list if x %}{% endfor %}", SYNTAX, "plain"),
        ("{% for a, b in state.list %}{% endfor %}", SYNTAX, "variable"),
        ("{% for state in state.list %}{% endfor %}", SYNTAX, "variable"),
    ],
)
def test_what_a_template_may_not_name(template: str, code: str, word: str):
    error = refused(template, WORDS)
    assert error is not None
    assert error.code == code
    assert word in error.detail
    assert document_faults(template, output_schema={}) == [("/context/0/template", code)]
    with pytest.raises(RenderFailedError):  # what was never checked is refused where it would run
        rendered(template, WORDS, VALUES)


@pytest.mark.req("T-25")
def test_conditions_are_of_the_same_grammar():
    error = refused("state.pin == 1", WORDS, condition=True)
    assert error is not None
    assert error.code == SECRET


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.req("S4-45", "T-08")
@given(st.sampled_from(HOSTILE) | st.text())
def test_a_text_of_the_state_comes_out_as_it_is(text: str):
    """Single pass: whatever braces, tags or surrogates it holds."""
    assert rendered("[{{ state.name }}]", WORDS, {"state": {"name": text}}) == f"[{text}]"


PIECES = st.sampled_from(
    [
        "{{ state.name }}", "{{ state.age|round(1) }}", "{% for a in state.plain %}{{ a }}{% endfor %}", "{{ state.plain|join('-') }}",
        "{{ state.name == state.age }}", "{{ state.age > state.name }}", "{{ state.age in state.plain }}", "{{ state.plain|first|upper }}",
        "{{ state.notes|tojson }}", "{{ state.notes.a.b }}", "{{ state.plain[0] }}", "{% if state.notes %}a{% else %}b{% endif %}",
        "{{ state.name|default(state.age)|length }}", "{{ state.name|trim|last }}", "text { { ",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=4).map("".join), JSON, JSON, JSON)
def test_whatever_the_state_holds_a_template_gives_text_or_fails_typed(template: str, name: Any, age: Any, plain: Any):
    notes: dict[str, Any] = {"additionalProperties": {"additionalProperties": {}}}
    words = vocabulary({"session": {"properties": {"name": {}, "age": {}, "plain": {}, "notes": notes}}})
    code = "none"
    try:
        assert isinstance(rendered(template, words, {"state": {"name": name, "age": age, "plain": plain, "notes": name}}), str)
    except RenderFailedError as failed:
        code = failed.code
    assert code in ("none", "template-too-much", "template-failed")


@given(st.text(alphabet="{}%# \n'\"|.()[]_stae01+-*~", max_size=40), st.booleans())
def test_no_text_breaks_the_check(text: str, condition: bool):
    error = refused(text, WORDS, condition)
    assert error is None or error.code in (SYNTAX, UNKNOWN, SECRET)
