"""Attacks on templates: published ways out of Jinja's sandbox, and what asks for memory or time. Each is refused or bounded."""

import time
from typing import Any

import pytest

from app.config.agent_limits import TEMPLATE_OUTPUT_CHARS_MAX, TEMPLATE_WORK_MAX
from app.context.templates.grammar import SECRET, UNKNOWN
from app.context.templates.render import RenderFailedError, refused, rendered, vocabulary
from tests.context.templates.vocabulary import VALUES, WORDS, document_faults

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


def chained(length: int) -> dict[str, Any]:
    """A schema that says what a key is over so many references, the last of them secret."""
    steps: dict[str, Any] = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(length)}
    return {"session": {"properties": {"name": {"$ref": "#/$defs/d0"}}, "$defs": {**steps, f"d{length}": {"writeOnly": True}}}}


@pytest.mark.req("T-25")
@pytest.mark.parametrize("length", [1, 200, 1_500])
def test_a_secret_behind_many_references_is_still_one(length: int):
    error = refused("{{ state.name }}", vocabulary(chained(length)))
    assert error is not None
    assert error.code == SECRET


def test_a_key_of_too_many_schemas_is_not_known():
    many: dict[str, Any] = {"session": {"anyOf": [{"properties": {"name": {}}} for _ in range(300)]}}
    error = refused("{{ state.name }}", vocabulary(many))
    assert error is not None
    assert error.code == UNKNOWN
    assert refused("state.name", vocabulary(many), condition=True) is not None


def test_a_large_template_over_a_large_schema_is_checked_soon():
    schema: dict[str, Any] = {"session": {"properties": {f"k{number}": {"properties": {"a": {}}} for number in range(2_000)}}}
    began = time.monotonic()
    assert refused("".join(f"{{{{ state.k{number}.a }}}}" for number in range(900)), vocabulary(schema)) is None
    assert time.monotonic() - began < 5
