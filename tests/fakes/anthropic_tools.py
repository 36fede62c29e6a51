"""Tools, the choice among them, structured output, cache marks and media of a Messages body (wire-format notes 4.1, 4.3, 4.4)."""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from tests.fakes.claude_models import Claude
from tests.fakes.pictures import picture
from tests.fakes.schema_limits import LENGTHS, NUMERIC, optional_count, strict_breaches, union_count
from tests.fakes.shapes import Breach

BREAKPOINTS_MAX = 4
STRICT_TOOLS_MAX, OPTIONAL_MAX, UNIONS_MAX = 20, 24, 16
IMAGE_BYTES_MAX, IMAGE_PIXELS_MAX, MANY_IMAGES, MANY_IMAGE_PIXELS_MAX = 10_000_000, 8000, 20, 2000
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def tool_breaches(body: dict[str, Any]) -> Iterator[Breach]:
    tools = body.get("tools", [])
    names = [tool["name"] for tool in tools if "name" in tool]
    if len(names) != len(set(names)):
        yield Breach("tools", "Tool names must be unique.")
    if tools and all(tool.get("defer_loading") for tool in tools):
        yield Breach("tools", "At least one tool must have defer_loading=false.")
    for index, tool in enumerate(tools):
        if "input_schema" in tool:
            yield from _schema(tool["input_schema"], f"tools.{index}.custom.input_schema")
    yield from _strict([tool for tool in tools if tool.get("strict") and "input_schema" in tool])
    choice = body.get("tool_choice")
    if choice is not None and not tools:
        yield Breach("tool_choice", "may only be specified while providing `tools`")
    if choice is not None and choice["type"] == "tool" and choice["name"] not in names:
        yield Breach("tool_choice", f"Tool '{choice['name']}' not found in provided tools")
    servers = body.get("mcp_servers")
    for block, at in _blocks(body):
        if block["type"] == "tool_reference" and block["tool_name"] not in names and not servers:
            yield Breach(at, f"Tool reference '{block['tool_name']}' not found in available tools")


def _schema(schema: dict[str, Any], at: str) -> Iterator[Breach]:
    if schema.get("type") != "object":
        yield Breach(f"{at}.type", "Input should be 'object'")
    if schema.keys() & {"oneOf", "allOf", "anyOf"}:
        yield Breach(at, "input_schema does not support oneOf, allOf, or anyOf at the top level")
    if not jsonschema_rs.meta.is_valid({**schema, "$schema": _DRAFT}):
        yield Breach(at, "JSON schema is invalid. It must match JSON Schema draft 2020-12")
        return
    for name in schema.get("properties", {}):
        if not _PROPERTY.fullmatch(name):
            yield Breach(f"{at}.properties", f"Property keys should match pattern '^{_PROPERTY.pattern}$'")


def _strict(tools: list[dict[str, Any]]) -> Iterator[Breach]:
    if len(tools) > STRICT_TOOLS_MAX:
        yield Breach("tools", f"Too many strict tools. The maximum is {STRICT_TOOLS_MAX}.")
    if sum(optional_count(tool["input_schema"]) for tool in tools) > OPTIONAL_MAX:
        yield Breach("tools", f"Too many optional parameters in strict tools. The maximum is {OPTIONAL_MAX}.")
    if sum(union_count(tool["input_schema"]) for tool in tools) > UNIONS_MAX:
        yield Breach("tools", f"Too many parameters with union types in strict tools. The maximum is {UNIONS_MAX}.")
    for tool in tools:
        yield from strict_breaches(tool["input_schema"], f"tools.{tool['name']}.input_schema", NUMERIC | LENGTHS)


def output_breaches(body: dict[str, Any]) -> Iterator[Breach]:
    form = (body.get("output_config") or {}).get("format")
    if form is None:
        return
    yield from strict_breaches(form["schema"], "output_config.format.schema", NUMERIC | LENGTHS)
    if any((block.get("citations") or {}).get("enabled") for block, _ in _blocks(body) if block["type"] in ("document", "search_result")):
        yield Breach("output_config.format", "citations cannot be enabled together with structured outputs")


def cache_breaches(body: dict[str, Any]) -> Iterator[Breach]:
    """Marks in the order of the prefix: tools, system, messages. The automatic one counts and comes last."""
    marks = [tool["cache_control"] for tool in body.get("tools", []) if tool.get("cache_control")]
    for index, tool in enumerate(body.get("tools", [])):
        if tool.get("cache_control") and tool.get("defer_loading"):
            yield Breach(f"tools.{index}", "Tools with defer_loading cannot use cache_control")
    system = body.get("system")
    marks += [block["cache_control"] for block in system if block.get("cache_control")] if isinstance(system, list) else []
    for block, at in _blocks(body):
        if block.get("cache_control"):
            marks.append(block["cache_control"])
            if block["type"] == "text" and not block["text"].strip():
                yield Breach(f"{at}.cache_control", "cache_control cannot be set for empty text blocks")
    marks += [body["cache_control"]] if body.get("cache_control") else []
    if len(marks) > BREAKPOINTS_MAX:
        yield Breach("", f"A maximum of {BREAKPOINTS_MAX} blocks with cache_control may be provided. Found {len(marks)}.")
    lives = [mark.get("ttl", "5m") for mark in marks]
    if "5m" in lives and "1h" in lives[lives.index("5m") :]:
        yield Breach("", "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")


def media_breaches(body: dict[str, Any], model: Claude) -> Iterator[Breach]:
    images = [(block, at) for block, at in _blocks(body) if block["type"] == "image"]
    if len(images) > model.images_max:
        yield Breach("messages", f"Too many images: {len(images)} > {model.images_max}")
    most = MANY_IMAGE_PIXELS_MAX if len(images) > MANY_IMAGES else IMAGE_PIXELS_MAX
    for block, at in images:
        source = block["source"]
        if source["type"] != "base64":
            continue
        seen, said = picture(source["data"]), source["media_type"]
        at = f"{at}.image.source.base64"
        if seen is None or not seen.size_bytes:
            yield Breach(f"{at}.data", "invalid base64 data" if seen is None else "image cannot be empty")
            continue
        if seen.kind is not None and said != f"image/{seen.kind}":
            yield Breach(at, f"The image was specified using the {said} media type, but the image appears to be a image/{seen.kind} image")
        if seen.size_bytes > IMAGE_BYTES_MAX:
            yield Breach(at, f"image exceeds 10 MB maximum: {seen.size_bytes} bytes")
        if seen.pixels is not None and seen.pixels > most:
            yield Breach(at, f"At least one of the image dimensions exceed max allowed size: {most} pixels")
    for block, at in _blocks(body):
        source = block["source"] if block["type"] == "document" else {}
        if source.get("type") == "base64":
            found = picture(source["data"])
            if found is None or not found.size_bytes:
                yield Breach(f"{at}.document.source.base64.data", "The PDF specified was not valid.")


def _blocks(body: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every block of the messages, and those inside of results."""
    for number, message in enumerate(body["messages"]):
        content = message["content"]
        for index, block in enumerate(content if isinstance(content, list) else ()):
            at = f"messages.{number}.content.{index}"
            yield block, at
            inner = block.get("content") if block["type"] == "tool_result" else None
            for place, part in enumerate(inner if isinstance(inner, list) else ()):
                yield part, f"{at}.tool_result.content.{place}"
