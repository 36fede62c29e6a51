"""What an operator configures is judged when the service starts."""

from typing import Any

import pytest

from app.config.faults import ConfigError
from app.config.upstreams import ModelLimits, Upstream
from app.entries.errors import Invalid
from app.models.presets import PRESETS
from app.models.resolve import Limits, ModelChoice
from app.services.targets import Targets


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"dialect": "openai"}, "upstreams.local.dialect: one of openai-chat"),
        ({"quirks": {"tool_choise": False}}, "upstreams.local.quirks: no wire rule is called 'tool_choise'"),
        ({"quirks": {"tool_choice": 1}}, "upstreams.local.quirks: the quirk tool_choice has to be of type bool"),
        ({"exact_counting": True}, "upstreams.local.exact_counting: no endpoint of this dialect counts"),
        ({"preset": "mistrall"}, "upstreams.local.preset: one of .*mistral"),
        ({"preset": "vllm"}, "upstreams.local.base_url: missing"),
        ({"models": {"m": ModelLimits(9, 9, "p50k")}}, 'upstreams.local.models."m".tokenizer: one of o200k_base'),
    ],
)
def test_an_upstream_that_cannot_be_spoken_to_is_named_at_the_start(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Targets({"local": Upstream("local", **({"dialect": "openai-chat"} | facts))})


@pytest.mark.req("X-23")
def test_blocks_belong_to_the_account_that_the_operator_names() -> None:
    upstreams = {name: Upstream(name, "openai-chat", account=account) for name, account in (("a", ""), ("b", "shared"), ("c", "shared"))}
    targets = Targets(upstreams)
    producers = {name: targets.resolve(ModelChoice(name, "m", {}), Limits(1_000, 100, "explicit")).producer for name in upstreams}
    assert [str(producers[name]) for name in "abc"] == ["openai-chat/a/m", "openai-chat/shared/m", "openai-chat/shared/m"]


EXPLICIT = Limits(1_000, 100, "explicit")
CHAT_PRESETS = sorted(name for name, preset in PRESETS.items() if preset.dialect == "openai-chat")


@pytest.mark.parametrize("name", CHAT_PRESETS)
def test_a_preset_lies_over_the_dialects_rules_and_the_operators_quirks_over_it(name: str) -> None:
    url = None if PRESETS[name].base_url else "http://127.0.0.1:9/v1"
    quirks = {"max_tokens_key": "max_completion_tokens", "allowed_tools": True}
    targets = Targets({"plain": Upstream("plain", "", url, preset=name), "own": Upstream("own", "", url, preset=name, quirks=quirks)})
    plain = targets.resolve(ModelChoice("plain", "m", {}), EXPLICIT).rules
    for key, value in PRESETS[name].quirks.items():
        assert getattr(plain, key) == value
    own = targets.resolve(ModelChoice("own", "m", {}), EXPLICIT).rules
    assert (own.max_tokens_key, own.allowed_tools) == ("max_completion_tokens", True)
    place = targets.upstream("plain")
    assert (place.dialect, place.base_url) == ("openai-chat", PRESETS[name].base_url or url)


def test_what_a_model_cannot_see_stays_unseen_whatever_its_server_takes() -> None:
    targets = Targets({"router": Upstream("router", "", preset="openrouter")})
    seeing, blind = (targets.resolve(ModelChoice("router", name, {}), EXPLICIT).rules for name in ("openai/gpt-4o", "openai/gpt-oss-120b"))
    assert (seeing.images, seeing.files, seeing.image_counting) == (True, True, "tiles 85 170")
    assert (blind.images, blind.files) == (False, False)


@pytest.mark.req("S3-04", "S3-05", "S3-06", "X-44")
def test_limits_come_from_the_document_the_operator_the_provider_the_catalogue_or_not_at_all() -> None:
    models = {"gpt-4o": ModelLimits(9_000, 900, max_input_tokens=8_000)}
    targets = Targets(
        {
            "known": Upstream("known", "openai-chat", models=models),
            "place": Upstream("place", "openai-chat"),
            "own": Upstream("own", "", "http://127.0.0.1:9/v1", preset="vllm"),
        }
    )

    def limits(upstream: str, name: str = "gpt-4o", explicit: Limits | None = None) -> Limits:
        return targets.resolve(ModelChoice(upstream, name, {}), explicit).limits

    assert limits("known", explicit=EXPLICIT) is EXPLICIT
    assert limits("known") == Limits(9_000, 900, "operator", 8_000)
    assert limits("place") == Limits(128_000, 16_384, "catalogue")
    for upstream, name in (("own", "gpt-4o"), ("place", "claude-fable-5-2"), ("place", "nobody-knows")):
        with pytest.raises(Invalid) as caught:
            limits(upstream, name)
        assert caught.value.code == "unknown-capacity"
    before = targets.digest
    learned = Limits(40_960, 40_960, "provider")
    for upstream in ("known", "place", "own"):
        targets.learn(upstream, {"gpt-4o": learned})
    assert targets.digest != before, "a cached answer is of another configuration"
    assert limits("known") == Limits(9_000, 900, "operator", 8_000)
    assert limits("place") == limits("own") == learned
    assert limits("own", explicit=EXPLICIT) is EXPLICIT


def test_the_operators_word_on_a_tokenizer_may_be_a_family() -> None:
    targets = Targets({"u": Upstream("u", "openai-chat", models={"house": ModelLimits(9_000, 900, "heuristic:claude")})})
    target = targets.resolve(ModelChoice("u", "house", {}), None)
    assert (target.estimator, target.error_band) == ("heuristic:claude", 0.15)
    assert targets.counter(target.estimator).count("hello world") == 3
