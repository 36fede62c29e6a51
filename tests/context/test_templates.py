"""Templates: what they give, what they may name, and that nothing else can be reached, however it is asked for."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.limits import TEMPLATE_OUTPUT_CHARS_MAX, TEMPLATE_WORK_MAX
from app.context.agents.check import check_document
from app.context.templates.grammar import SECRET, SYNTAX, UNKNOWN
from app.context.templates.render import RenderFailedError, holds, refused, rendered, vocabulary
from tests.strategies import HOSTILE, MODEL

SCHEMA: dict[str, Any] = {
    "session": {
        "type": "object",
        "$defs": {"ward": {"type": "object", "properties": {"floor": {"type": "integer"}, "code": {"type": "string", "writeOnly": True}}}},
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "number"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"drug": {"type": "string"}, "price": {"writeOnly": True}}}},
            "plain": {"type": "array"},
            "ward": {"$ref": "#/$defs/ward"},
            "either": {"anyOf": [{"properties": {"left": {}}}, {"properties": {"right": {"writeOnly": True}}}]},
            "pin": {"type": "string", "writeOnly": True},
            "vault": {"type": "object", "writeOnly": True, "properties": {"inner": {"type": "string"}}},
            "notes": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
    "user": {"type": "object", "properties": {"language": {"type": "string"}, "key": {"writeOnly": True}}},
}
WORDS = vocabulary(SCHEMA, has_output_schema=True)
VALUES: dict[str, Any] = {
    "state": {
        "name": "Ada",
        "age": 41.5,
        "list": [{"drug": "a"}, {"drug": "b"}],
        "ward": {"floor": 3, "code": "SECRET"},
        "pin": "SECRET",
        "session": {"name": "Ada", "age": 41.5},
        "user": {"language": "fr"},
    },
    "session": {"id": "ses_1", "agent": "nurse", "revision": 2},
    "agent": {"name": "nurse", "revision": 2},
    "output_schema": '{"type":"object"}',
}


def document_faults(template: Any, **more: Any) -> list[tuple[str, str]]:
    """The faults of an agent document with this template."""
    found = check_document({"model": MODEL, "state_schema": SCHEMA, "context": [{"renderer": "system", "template": template}], **more})
    return [(fault.pointer, fault.code) for fault in found if fault.pointer.startswith("/context")]


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


ESCAPES = [
    "{{ ''.__class__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''.__class__.__base__.__subclasses__()[40]('/etc/passwd').read() }}",
    "{{ [].__class__.__base__.__subclasses__() }}",
    "{{ {}.__class__ }}",
    "{{ ().__class__.__bases__[0] }}",
    "{{ state.name.__class__ }}",
    "{{ state['__class__'] }}",
    "{{ state.name['__class__']['__mro__'] }}",
    "{{ state.list.__class__ }}",
    "{{ state.list.append(1) }}",
    "{{ state.name.format(state) }}",
    "{{ '{0.__class__.__init__.__globals__}'.format(state) }}",
    "{{ '{a.__class__}'.format_map(state) }}",
    "{{ '%s'|format(state.name) }}",
    "{{ ''|attr('__class__') }}",
    "{{ ''|attr('__cla'~'ss__') }}",
    "{{ ''|attr('\\x5f\\x5fclass\\x5f\\x5f') }}",
    "{{ ''['\\x5f\\x5fclass\\x5f\\x5f'] }}",
    "{{ ''[['__cla','ss__']|join] }}",
    "{{ state|attr(['_'*2,'class','_'*2]|join) }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ joiner.__init__.__globals__.os.popen('id').read() }}",
    "{{ namespace.__init__.__globals__.os.popen('id').read() }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ lipsum.__globals__.__builtins__.eval('1') }}",
    "{{ range.__class__ }}",
    "{{ dict.__class__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ self.__init__.__globals__ }}",
    "{{ self.__dict__ }}",
    "{{ request.application.__globals__.__builtins__.__import__('os').popen('id').read() }}",
    "{{ request|attr('application')|attr('__globals__') }}",
    "{{ config.items() }}",
    "{{ config.__class__.__init__.__globals__['os'] }}",
    "{{ url_for.__globals__ }}",
    "{{ get_flashed_messages.__globals__ }}",
    "{{ g.pop.__globals__ }}",
    "{{ undefined_name.__class__.__init__.__globals__ }}",
    "{{ loop.__class__ }}",
    "{% for x in state.list %}{{ loop.__init__ }}{% endfor %}",
    "{% for x in state.list %}{{ loop._iterator }}{% endfor %}",
    "{% for x in state.list recursive %}{{ loop(x) }}{% endfor %}",
    "{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
    "{% for x in state.list %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% set x = ''.__class__ %}{{ x }}",
    "{% set ns = namespace(a=1) %}",
    "{% macro m() %}{{ caller }}{% endmacro %}{{ m.__globals__ }}",
    "{% call m() %}{% endcall %}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}",
    "{% from 'os' import popen %}",
    "{% extends 'x' %}",
    "{% block x %}{{ self.x() }}{% endblock %}",
    "{% filter upper %}{{ state.name }}{% endfilter %}",
    "{% autoescape true %}{% endautoescape %}",
    "{% with a = ''.__class__ %}{{ a }}{% endwith %}",
    "{% do state.list.append(1) %}",
    "{% debug %}",
    "{% trans %}x{% endtrans %}",
    "{{ state.list|map(attribute='__class__')|list }}",
    "{{ state.list|groupby('__class__') }}",
    "{{ state.list|sort(attribute='__class__') }}",
    "{{ state.list|selectattr('__class__') }}",
    "{{ state.list|sum(attribute='__init__') }}",
    "{{ ''|xmlattr }}",
    "{{ state|pprint }}",
    "{{ state|list }}",
    "{{ state.name|safe }}",
    "{{ ''.__𝒸𝓁𝒶𝓈𝓈__ }}",
    "{{ state.𝓃𝒶𝓂ℯ.__ｃlass__ }}",
    "{{ ＿＿builtins＿＿ }}",
    "{{ __import__('os') }}",
    "{{ _meter }}",
    "{{ state._meter.work }}",
    "{{ (state.name)() }}",
    "{{ (state.name or '').upper.__func__ }}",
    "{{ (1).real }}",
    "{{ 1 .__class__ }}",
    "{{ state.name is callable }}",
    "{{ state.name is sameas(none) }}",
    "{{ state.name is filter }}",
    "{{ state.name|default(cycler) }}",
    "{{ state.name|join(attribute='__class__') }}",
    "{{ state.name[::1] }}",
    "{{ **state }}",
    "{{ state.name if cycler else state.name }}",
    "{{ {'a': cycler} }}",
    "{{ 'a' in lipsum }}",
]

ATTACKS = [
    "{{ 'x' * 200000000 }}",
    "{{ 10 ** 10000000 }}",
    "{{ 2 ** 2 ** 2 ** 100 }}",
    "{% for x in range(1000000000) %}{% endfor %}",
    "{{ range(1000000000)|list }}",
    "{{ 'x'.ljust(1000000000) }}",
    "{{ '%1000000000d'|format(1) }}",
    "{{ '{:>1000000000}'.format(1) }}",
    "{{ 'x'|center(1000000000) }}",
    "{{ 'x'|indent(1000000000) }}",
    "{{ 'xx'|replace('x', state.name) }}",
    "{{ state.name ~ state.name }}",
    "{{ lipsum(n=100000) }}",
    "{{ [1] * 1000000000 }}",
    "{{ state.list|batch(1000000000, 'x') }}",
    "{{ state.list|slice(1000000000) }}",
    "{{ state.name|wordwrap(1) }}",
    "{{ state.name|urlize }}",
    "{{ 1 << 1000000000 }}",
    "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
    "{{ " + "not " * 5_000 + "1 }}",
    "{{ " + "[" * 1_000 + "]" * 1_000 + " }}",
    "{{ 1" + "0" * 10_000 + " }}",
    "{{ 1e999 }}",
    "{{ state.name" + "|upper" * 5_000 + " }}",
    "{% if state.name %}" * 200 + "{% endif %}" * 200,
    "{% for a in state.list %}{% for b in state.list %}{% for c in state.list %}{% endfor %}{% endfor %}{% endfor %}",
    "{{ state.name }}" * 4_001,
    "x" * 70_000,
]


@pytest.mark.req("S4-44")
@pytest.mark.parametrize("template", ESCAPES)
def test_no_known_way_out_of_the_sandbox_is_taken(template: str):
    """Payloads that are published for Jinja; each is refused where the agent is put, and again where it would be rendered."""
    assert [pointer for pointer, _ in document_faults(template)] == ["/context/0/template"]
    with pytest.raises(RenderFailedError):
        rendered(template, WORDS, VALUES)


@pytest.mark.req("S4-44")
@pytest.mark.parametrize("template", ATTACKS, ids=lambda template: template[:40])
def test_no_template_that_asks_for_memory_or_time_is_taken(template: str):
    began = time.monotonic()
    assert [pointer for pointer, _ in document_faults(template)] == ["/context/0/template"]
    assert time.monotonic() - began < 5


BIG = {"state": {"name": "x" * 60_000, "plain": list(range(20_000)), "list": [{"drug": "y" * 100}] * 600}}


@pytest.mark.parametrize(
    "template",
    [
        "{{ state.name }}" * 100,
        "{{ state.plain }}" * 100,
        "{% for a in state.plain %}{% for b in state.plain %}{% endfor %}{% endfor %}",
        "{% for a in state.plain %}{% for b in state.plain %}{{ a }}{% endfor %}{% endfor %}",
        "{% for a in state.plain %}{{ state.name }}{% endfor %}",
        "{% for a in state.plain %}{% if state.name|upper|lower|trim|length == 1 %}{% endif %}{% endfor %}",
        "{% for a in state.plain %}{% if state.plain == state.plain %}{% endif %}{% endfor %}",
        "{% for a in state.plain %}{% if a in state.plain %}{% endif %}{% endfor %}",
        "{% for a in state.plain %}{% if 'xy' in state.name %}{% endif %}{% endfor %}",
        "{% for a in state.plain %}{{ state.plain|tojson|length }}{% endfor %}",
        "{% for a in state.plain %}{{ [state.name, state.name]|join(state.name)|length }}{% endfor %}",
        "{{ state.plain|join(state.name) }}",
    ],
)
def test_what_a_rendering_may_take_is_bounded(template: str):
    """They name nothing that is not theirs, so only the data makes them large: the rendering ends as a typed failure, and soon."""
    words = vocabulary({"session": {"properties": {"name": {}, "plain": {"type": "array"}, "list": {"items": {"properties": {"drug": {}}}}}}})
    assert refused(template, words) is None
    began = time.monotonic()
    with pytest.raises(RenderFailedError) as failed:
        rendered(template, words, BIG)
    assert failed.value.code == "template-too-much"
    assert time.monotonic() - began < 5
    assert TEMPLATE_OUTPUT_CHARS_MAX < 10**6 >= TEMPLATE_WORK_MAX


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
