"""What Bedrock's Converse endpoints refuse, written from the service model, the documentation and the error texts (wire-format notes 6).

On purpose nothing here is shared with the service: a rule that both had wrong in the same way would never show.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.anthropic_shapes import CHOICE
from tests.fakes.bedrock_conversation import cache_breaches, conversation_breaches, family, kind
from tests.fakes.bedrock_shapes import shape_breaches
from tests.fakes.claude_models import Claude, claude
from tests.fakes.claude_thinking import BINDING_BETA, THINKING, Asked, thinking_breaches
from tests.fakes.pictures import picture
from tests.fakes.schema_limits import NUMERIC, strict_breaches
from tests.fakes.shapes import Breach, an_object, anything, listing, number, record, text

IMAGES_MAX, IMAGE_BYTES_MAX, IMAGE_PIXELS_MAX = 20, 3_750_000, 8000
DOCUMENTS_MAX, DOCUMENT_BYTES_MAX = 5, 4_500_000
CACHE_POINTS_MAX = 4
_DOCUMENT_NAME = re.compile(r"[a-zA-Z0-9()\[\]-]+(?:\s[a-zA-Z0-9()\[\]-]+)*")
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
_EXTRA = record(
    {},
    {
        "thinking": THINKING,
        "output_config": an_object,
        "tool_choice": CHOICE,
        "anthropic_beta": listing(text(1)),
        "top_k": number(0),
        "context_management": anything,
        "tools": listing(an_object),
    },
)


def breaches(body: Any, model: str, operation: str = "ConverseStream") -> list[Breach]:
    """Everything that is wrong with a body by itself, for the model that the path names; empty for one that is served."""
    found = shape_breaches(operation, body)
    if found:
        return found
    if operation == "CountTokens":
        body = body["input"].get("converse")
        if family(model) != "anthropic":
            return [Breach("", "The provided model doesn't support counting tokens.")]
        if body is None:
            return []
    maker = family(model)
    facts = claude(model)
    extra = body.get("additionalModelRequestFields")
    found = (
        [Breach("", f"Malformed input request: {each.message}") for each in _EXTRA(extra, "")] if maker == "anthropic" and extra is not None else []
    )
    return found or list(_content(body, facts, maker))


def asked(body: dict[str, Any]) -> Asked:
    """What a body says about thinking. Claude's settings come in Claude's own shape (wire-format notes 6.1)."""
    extra = body.get("additionalModelRequestFields")
    extra = extra if isinstance(extra, dict) else {}
    effort = (body.get("outputConfig") or {}).get("effort") or (extra.get("output_config") or {}).get("effort")
    choice = (body.get("toolConfig") or {}).get("toolChoice")
    told = next(iter(choice)) if choice else (extra.get("tool_choice") or {}).get("type")
    return Asked(extra.get("thinking"), effort, told, (body.get("inferenceConfig") or {}).get("maxTokens"))


def _content(body: dict[str, Any], model: Claude, maker: str) -> Iterator[Breach]:
    messages = body.get("messages", [])
    yield from conversation_breaches(messages, model, maker)
    yield from _media(messages)
    yield from _tools(body, maker)
    yield from _cache(body, messages)
    for block in body.get("system", ()):
        if "text" in block and not block["text"].strip():
            yield Breach("", "The text field in the SystemContentBlock object is blank. Add text to the text field, and try again.")
    if maker == "mistral":
        for message in messages:
            for block in message["content"]:
                if "toolUse" in block and not _MISTRAL_ID.fullmatch(block["toolUse"]["toolUseId"]):
                    yield Breach("", "Tool call id must be a-z, A-Z, 0-9, with a length of 9.")
    if maker == "anthropic":
        yield from _claude(body, messages, model)


def _tools(body: dict[str, Any], maker: str) -> Iterator[Breach]:
    config = body.get("toolConfig")
    used = any("toolUse" in block or "toolResult" in block for message in body.get("messages", ()) for block in message["content"])
    if config is None:
        if used:
            yield Breach("", "The toolConfig field must be defined when using toolUse and toolResult content blocks.")
        return
    specs = [tool["toolSpec"] for tool in config["tools"] if "toolSpec" in tool]
    names = [spec["name"] for spec in specs] + [tool["systemTool"]["name"] for tool in config["tools"] if "systemTool" in tool]
    if len(names) != len(set(names)):
        yield Breach("toolConfig.tools", "The tool names must be unique.")
    for spec in specs:
        schema = spec["inputSchema"]["json"]
        at = f"toolConfig.tools.{spec['name']}.inputSchema.json"
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield Breach("", f"The value at {at}.type must be one of the following: object.")
        elif spec.get("strict") and maker == "anthropic":
            yield from strict_breaches(schema, at, NUMERIC)
    choice = config.get("toolChoice", {})
    if "tool" in choice and choice["tool"]["name"] not in names:
        yield Breach("toolConfig.toolChoice.tool", "The tool name is not among the tools.")
    if "tool" in choice and maker in ("meta", "mistral", "qwen"):
        yield Breach("", "This model doesn't support the toolConfig.toolChoice.tool field. Remove toolConfig.toolChoice.tool and try again.")


def _cache(body: dict[str, Any], messages: list[dict[str, Any]]) -> Iterator[Breach]:
    tools, system = (body.get("toolConfig") or {}).get("tools", []), body.get("system", [])
    yield from cache_breaches(tools, "toolConfig.tools")
    yield from cache_breaches(system, "system")
    rows = [tools, system, *(message["content"] for message in messages)]
    points = [block["cachePoint"] for row in rows for block in row if "cachePoint" in block]
    if len(points) > CACHE_POINTS_MAX:
        yield Breach("", f"A maximum of {CACHE_POINTS_MAX} cachePoint blocks may be provided. Found {len(points)}.")
    lives = [point.get("ttl", "5m") for point in points]
    if "5m" in lives and "1h" in lives[lives.index("5m") :]:
        yield Breach("", "a cachePoint with ttl '1h' must not come after one with ttl '5m'")


def _media(messages: list[dict[str, Any]]) -> Iterator[Breach]:
    for number_, message in enumerate(messages):
        at = f"messages.{number_}.content"
        inner = [part for block in message["content"] if "toolResult" in block for part in block["toolResult"]["content"]]
        images = [block["image"] for block in [*message["content"], *inner] if "image" in block]
        documents = [block["document"] for block in [*message["content"], *inner] if "document" in block]
        if len(images) > IMAGES_MAX:
            yield Breach(at, f"The number of images exceeds the limit of {IMAGES_MAX}.")
        if len(documents) > DOCUMENTS_MAX:
            yield Breach(at, f"The number of documents exceeds the limit of {DOCUMENTS_MAX}.")
        kinds = [kind(block) for block in message["content"]]
        if "document" in kinds and "text" not in kinds:
            yield Breach(at, "A text block is required when documents are provided.")
        for image in images:
            yield from _image(image, at)
        for document in documents:
            name = document["name"]
            if not _DOCUMENT_NAME.fullmatch(name):
                yield Breach(
                    at,
                    "The document name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets.",
                )
            seen = picture(document["source"].get("bytes", ""))
            if seen is not None and seen.size_bytes > DOCUMENT_BYTES_MAX:
                yield Breach(at, "The document is larger than 4.5 MB.")


def _image(image: dict[str, Any], at: str) -> Iterator[Breach]:
    seen = picture(image["source"].get("bytes", ""))
    if seen is None:
        return
    if seen.kind is not None and seen.kind != image["format"]:
        yield Breach(at, f"The image was specified as {image['format']}, but appears to be {seen.kind}.")
    if seen.size_bytes > IMAGE_BYTES_MAX or (seen.pixels or 0) > IMAGE_PIXELS_MAX:
        yield Breach(at, "The image is larger than 3.75 MB or 8000 pixels.")


def _claude(body: dict[str, Any], messages: list[dict[str, Any]], model: Claude) -> Iterator[Breach]:
    config = body.get("inferenceConfig") or {}
    said = asked(body)
    yield from thinking_breaches(said, model)
    extra = body.get("additionalModelRequestFields") or {}
    if "block_binding" in extra.get("thinking", {}) and BINDING_BETA not in extra.get("anthropic_beta", ()):
        yield Breach("thinking.block_binding", "Extra inputs are not permitted")
    sampled = [key for key in ("temperature", "topP") if key in config]
    if sampled and not model.sampling:
        yield Breach("", f"`{sampled[0]}` is deprecated for this model.")
    if said.kind in ("enabled", "adaptive") and config.get("temperature", 1) != 1:
        yield Breach("", "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
    if model.output_tokens_max is not None and config.get("maxTokens", 0) > model.output_tokens_max:
        yield Breach("", f"The maximum tokens you requested exceeds the model limit of {model.output_tokens_max}.")
    form = (body.get("outputConfig") or {}).get("textFormat")
    if form is not None:
        try:
            schema = json.loads(form["structure"]["jsonSchema"]["schema"])
        except ValueError:
            yield Breach("outputConfig.textFormat", "The schema is not valid JSON.")
        else:
            yield from strict_breaches(schema, "outputConfig.textFormat", NUMERIC)
    for number_, message in enumerate(messages):
        for index, block in enumerate(message["content"]):
            reasoning = block.get("reasoningContent", {})
            if "reasoningText" in reasoning and not reasoning["reasoningText"].get("signature"):
                yield Breach(f"messages.{number_}.content.{index}", "Invalid `signature` in `thinking` block")
    yield from _budget(messages, said)


def _budget(messages: list[dict[str, Any]], said: Asked) -> Iterator[Breach]:
    """With a budget, the answer of an open round starts with its thinking (wire-format notes 4.2)."""
    answers = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    if said.kind != "enabled" or not answers:
        return
    last, after = messages[answers[-1]], messages[answers[-1] + 1 :]
    if all(any("toolResult" in block for block in message["content"]) for message in after) and "reasoningContent" not in last["content"][0]:
        yield Breach(f"messages.{answers[-1]}.content.0.type", "Expected `thinking` or `redacted_thinking`, but found another block.")
