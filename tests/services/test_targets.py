"""What an operator configures is judged when the service starts."""

from typing import Any

import pytest

from app.config.faults import ConfigError
from app.config.upstreams import Upstream
from app.models.resolve import Limits, ModelChoice
from app.services.targets import Targets


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"dialect": "openai"}, "upstreams.local.dialect: one of openai-chat"),
        ({"quirks": {"tool_choise": False}}, "upstreams.local.quirks: no wire rule is called 'tool_choise'"),
        ({"quirks": {"tool_choice": 1}}, "upstreams.local.quirks: the quirk tool_choice has to be of type bool"),
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
