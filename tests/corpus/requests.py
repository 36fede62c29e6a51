"""A second reading of requests of three APIs, and of stored responses of one."""

import base64
from typing import Any

from tests.corpus.said import Piece, Reading, Said, at_url, loads, media, since_1970, without_empty


def read_responses(raw: bytes) -> Reading:
    """Items of the Responses API: an answer is everything between two inputs."""
    document, reading = loads(raw), Reading()
    if document.get("instructions"):
        reading.places.append("instructions")
        reading.add("system_message", "instructions", [("text", document["instructions"])])
    answer: Said | None = None
    stored = document.get("object") == "response"
    given = [(f"item {n}", item) for n, item in enumerate(document.get("input", ()))] + [
        (f"output {n}", item) for n, item in enumerate(document.get("output", ()))
    ]
    for place, item in given:
        reading.places.append(place)
        kind = item.get("type", "message")
        if item.get("role") in ("user", "developer", "system") and kind == "message":
            answer = None
            content = item["content"]
            pieces = [("text", content)] if isinstance(content, str) else [_responses_piece(part) for part in content]
            reading.add("user_message" if item["role"] == "user" else "system_message", place, pieces)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            answer = None
            output = item["output"]
            pieces = [("text", output)] if isinstance(output, str) else [_responses_piece(part) for part in output]
            reading.add("tool_result", place, pieces, tool_call_id=item["call_id"])
        else:
            if answer is None:
                model = document["model"] if stored else None
                answer = reading.add("assistant_message", place, [], model=model)
                answer.at = since_1970(document["created_at"] * 1000) if stored else None
            else:
                answer.places.append(place)
            answer.pieces += _spoken(kind, item)
    return reading


def _spoken(kind: str, item: Any) -> list[Piece]:
    if kind == "message":
        content = item["content"]
        return [("text", content)] if isinstance(content, str) else [("text", part.get("text", part.get("refusal"))) for part in content]
    if kind == "reasoning":
        texts = [part["text"] for part in [*item.get("summary", ()), *(item.get("content") or ())]]
        return [("reasoning", "\n\n".join(texts), item.get("encrypted_content"))]
    if kind == "function_call":
        return [("call", item["call_id"], item["name"], item["arguments"])]
    if kind == "custom_tool_call":
        return [("call", item["call_id"], item["name"], item["input"])]
    return [("other", without_empty(item))]


def _responses_piece(part: Any) -> Piece:
    if "text" in part:
        return ("text", part["text"])
    if part["type"] == "input_image":
        return at_url(part["image_url"])
    return at_url(part["file_data"]) if "file_data" in part else ("other", part)


def read_anthropic(raw: bytes) -> Reading:
    """Messages of the Messages API: each result apart, what stands between two results together, answers in a row as one."""
    document, reading = loads(raw), Reading()
    messages = [(f"message {n}", message) for n, message in enumerate(document["messages"])]
    if document.get("system"):
        messages.insert(0, ("system", {"role": "system", "content": document["system"]}))
    answering = False
    for place, message in messages:
        reading.places.append(place)
        blocks = [{"type": "text", "text": message["content"]}] if isinstance(message["content"], str) else message["content"]
        if message["role"] == "assistant":
            pieces = [_anthropic_piece(block) for block in blocks]
            if answering:
                reading.said[-1].pieces += pieces
                reading.said[-1].places.append(place)
            else:
                reading.add("assistant_message", place, pieces)
            answering = True
            continue
        answering = False
        kind = "user_message" if message["role"] == "user" else "system_message"
        open_said: Said | None = None
        for block in blocks:
            if block["type"] == "tool_result":
                inner = block.get("content", "")
                pieces = [("text", inner)] if isinstance(inner, str) else [_anthropic_piece(each) for each in inner]
                is_error = block.get("is_error", False)
                reading.add("tool_result", place, pieces or [("text", "")], tool_call_id=block["tool_use_id"], is_error=is_error)
                open_said = None
            elif open_said is None:
                open_said = reading.add(kind, place, [_anthropic_piece(block)])
            else:
                open_said.pieces.append(_anthropic_piece(block))
    return reading


def _anthropic_piece(block: Any) -> Piece:
    kind, source = block["type"], block.get("source", {})
    if kind == "text":
        return ("text", block["text"])
    if kind == "thinking":
        return ("reasoning", block["thinking"], block["signature"])
    if kind == "redacted_thinking":
        return ("reasoning", "", block["data"])
    if kind == "tool_use":
        return ("call", block["id"], block["name"], block["input"])
    if source.get("type") == "base64":
        return media(source["media_type"], source["data"])
    if source.get("type") == "url":
        return ("url", source["url"])
    if source.get("type") == "text":
        return media(source["media_type"], base64.b64encode(source["data"].encode()).decode())
    return ("other", without_empty(block))


def read_gemini(raw: bytes) -> Reading:
    """Contents of a request. A call without an id is called by its name and its number, in order, and so is its result."""
    document, reading = _one_spelling(loads(raw)), Reading()
    contents = [(f"content {n}", content) for n, content in enumerate(document["contents"])]
    if "systemInstruction" in document:
        contents.insert(0, ("systemInstruction", {"role": "system", "parts": document["systemInstruction"]["parts"]}))
    unnamed: dict[str, list[str]] = {}
    count = 0
    for place, content in contents:
        reading.places.append(place)
        role = content.get("role", "user")
        kind = {"model": "assistant_message", "system": "system_message"}.get(role, "user_message")
        open_said: Said | None = None
        for part in content["parts"]:
            result = part.get("functionResponse")
            if result:
                tool_call_id = result.get("id") or unnamed[result["name"]].pop(0)
                response = result["response"]
                is_error = "error" in response
                ((_, only),) = response.items() if len(response) == 1 else (("", None),)
                plain = set(response) in ({"output"}, {"error"}) and isinstance(only, str)
                pieces: list[Piece] = [("text", only) if plain else ("json", response)]
                pieces += [_gemini_piece(each) for each in result.get("parts", ())]
                reading.add("tool_result", place, pieces, tool_call_id=tool_call_id, is_error=is_error)
                open_said = None
                continue
            call = part.get("functionCall")
            if call and "id" not in call:
                count += 1
                unnamed.setdefault(call["name"], []).append(f"call {count}")
                call["id"] = f"call {count}"
            if open_said is None:
                open_said = reading.add(kind, place, [])
            open_said.pieces.append(_gemini_piece(part))
    return reading


def _gemini_piece(part: Any) -> Piece:
    if "text" in part:
        return ("reasoning", part["text"], part.get("thoughtSignature")) if part.get("thought") else ("text", part["text"])
    if "functionCall" in part:
        return ("call", part["functionCall"]["id"], part["functionCall"]["name"], part["functionCall"].get("args", {}))
    if "inlineData" in part:
        return media(part["inlineData"]["mimeType"], part["inlineData"]["data"])
    if part.get("fileData", {}).get("fileUri", "").startswith("https://orchard"):
        return ("url", part["fileData"]["fileUri"])
    return ("other", part)


def _one_spelling(document: Any) -> Any:
    """The request as Google's JSON spells it; values of calls and results keep their own names."""
    if isinstance(document, list):
        return [_one_spelling(item) for item in document]
    if not isinstance(document, dict):
        return document
    found = {}
    for key, value in document.items():
        name = key.split("_")[0] + "".join(word.title() for word in key.split("_")[1:])
        if value is not None:
            found[name] = value if name in ("args", "response") else _one_spelling(value)
    return found
