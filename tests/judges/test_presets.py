"""Servers by name: any ledger compiles under each preset to a body that neither the judges of its dialect nor the server's own rules refuse."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.registry import FORMATS
from app.models.presets import PRESETS
from app.models.resolve import ModelChoice, Target
from tests.judges.examples import law
from tests.judges.judging import JUDGES, objections
from tests.judges.ledgers import Case, cases, params, targets
from tests.judges.servers import SERVERS, plain, refusals
from tests.judges.targets import LIMITS
from tests.strategies import resolved

pytestmark = [pytest.mark.timeout(900), pytest.mark.req("S0-28", "X-20", "X-24", "X-32")]

MODELS = {
    "azure": ("my-deployment", "gpt-4.1"),
    "deepseek": ("deepseek-v4-pro",),
    "mistral": ("mistral-large-4",),
    "groq": ("openai/gpt-oss-120b", "qwen/qwen3.8-27b"),
    "openrouter": ("anthropic/claude-opus-5", "google/gemini-3-flash-preview"),
    "vllm": ("qwen3.8-27b",),
    "ollama": ("gpt-oss:20b",),
    "llama-cpp": ("local",),
}


@st.composite
def of_preset(draw: st.DrawFn, name: str) -> Target:
    preset = PRESETS[name]
    if name not in SERVERS:
        return draw(targets(preset.dialect))
    choice = ModelChoice(name, draw(st.sampled_from(MODELS[name])), draw(params))
    return resolved(choice, LIMITS, preset.dialect, preset.quirks)


def test_every_preset_is_judged():
    assert {name for name, preset in PRESETS.items() if preset.dialect == "openai-chat"} == set(SERVERS)


@pytest.mark.parametrize("name", PRESETS)
def test_nobody_refuses_the_body_of_any_ledger_under_a_preset(name: str):
    @law(part=10)
    @given(cases(of_preset(name)))
    def bodies(case: Case):
        if case.empty:
            return
        body, target = case.written().body, case.target
        if name not in SERVERS:
            assert objections(target.dialect, body, target) == []
            return
        document, server = json.loads(body), SERVERS[name]
        assert refusals(server, document) == [], body[-4_000:]
        assert FORMATS[target.dialect].validate(document, target.rules) == [], body[-4_000:]
        known, judge = plain(server, document), JUDGES[target.dialect]
        assert judge.sdk(known, target) + judge.fake(known, target) == [], body[-4_000:]

    bodies()
