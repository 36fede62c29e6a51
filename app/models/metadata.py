"""What providers say of their own models: pure readers of their model lists, and where these are. Nothing is fetched here.

Each place spells limits in its own words (wire-format notes 2.1, 2.3, 7.1):

    Anthropic    `GET /v1/models`: `max_input_tokens` (the window, which input and output share), `max_tokens`
    Gemini       `GET models`: `inputTokenLimit`, `outputTokenLimit`; the window is taken to be the input limit, and never more
    vLLM         `GET /v1/models`: `max_model_len`, which is all that there is: the answer may take what the input leaves
    OpenRouter   `GET /api/v1/models`: `context_length`, and what the provider that it prefers takes
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeGuard

from app.config.limits import IDENTIFIER_CHARS_MAX, MODELS_LISTED_MAX
from app.models.catalogue import plain_name
from app.models.resolve import Limits

PATHS: Mapping[str, str] = MappingProxyType({"openai-chat": "/models", "anthropic-messages": "/models?limit=1000", "gemini": "/models?pageSize=1000"})
"""Dialect → where its servers list their models, below the base URL. Other dialects' lists say no limits, or there is none."""

Figures = tuple[Any, Any]
"""The window and the output limit, as they stand in a document."""


def _anthropic(model: Mapping[str, Any]) -> Figures:
    return model.get("max_input_tokens"), model.get("max_tokens")


def _gemini(model: Mapping[str, Any]) -> Figures:
    return model.get("inputTokenLimit"), model.get("outputTokenLimit")


def _vllm(model: Mapping[str, Any]) -> Figures:
    return model.get("max_model_len"), model.get("max_model_len")


def _openrouter(model: Mapping[str, Any]) -> Figures:
    preferred = model.get("top_provider")
    place = preferred if isinstance(preferred, Mapping) else {}
    window, served = model.get("context_length"), place.get("context_length")
    if _is_count(window) and _is_count(served):
        window = min(window, served)
    return window, place.get("max_completion_tokens")


_SPELLINGS: tuple[Callable[[Mapping[str, Any]], Figures], ...] = (_anthropic, _gemini, _vllm, _openrouter)


def read_models(document: Any) -> dict[str, Limits]:
    """The limits of each model of a list, or of the one model that a document is of, by name.

    A model with one limit alone, or with limits that contradict each other, is left out: half of a capacity is none. A dated model can
    be asked for without its date too, as long as no other one of the list is called the same.
    """
    found: dict[str, Limits] = {}
    for model in _models(document):
        name = model.get("id", model.get("name"))
        limits = _limits(model)
        if isinstance(name, str) and len(name) <= IDENTIFIER_CHARS_MAX and limits is not None and len(found) < MODELS_LISTED_MAX:
            found[name.removeprefix("models/")] = limits
    plain: dict[str, set[str]] = {}
    for name in found:
        plain.setdefault(plain_name(name), set()).add(name)
    for short, names in plain.items():
        if len(names) == 1 and short not in found:
            found[short] = found[next(iter(names))]
    return found


def _models(document: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(document, Mapping):
        return
    listed = document.get("data", document.get("models", [document]))
    yield from (one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, Mapping))


def _limits(model: Mapping[str, Any]) -> Limits | None:
    for spelling in _SPELLINGS:
        window, output = spelling(model)
        if _is_count(window) and _is_count(output) and output <= window:
            return Limits(int(window), int(output), "provider")
    return None


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
