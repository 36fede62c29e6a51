"""A second reading of what clients keep: rollouts of Codex, pi sessions, chats of the Gemini command line, UI messages."""

import json
from collections.abc import Iterator
from typing import Any

from tests.corpus.said import Piece, Reading, Said, at_url, iso, loads, media, since_1970, without_empty


def _records(raw: bytes, reading: Reading) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(raw.decode().splitlines(), 1):
        reading.places.append(f"line {number}")
        try:
            yield f"line {number}", loads(line)
        except ValueError:
            continue


def read_codex(raw: bytes) -> Reading:
    """Rollouts: the `response_item`s are the history, a rollback takes back prompts, a compaction is visible alone."""
    reading = Reading()
    records = list(_records(raw, reading))
    prompts = [record["payload"]["message"] for _, record in records if record.get("payload", {}).get("type") == "user_message"]
    answer: Said | None = None
    model = None
    for place, record in records:
        bare = "payload" not in record
        payload = record if bare else record["payload"]
        kind = "response_item" if bare and "type" in payload else record.get("type")
        at = iso(record.get("timestamp")) if not bare else None
        if kind in (None, "session_meta") and "id" in payload:
            text = payload.get("instructions") or payload["base_instructions"]["text"]
            reading.add("system_message", place, [("text", text)], at=iso(payload["timestamp"]))
        elif kind == "turn_context":
            model = payload["model"]
        elif kind == "compacted":
            reading.add("user_message", place, [("text", payload["message"])], at=at, in_context=False)
            answer = None
        elif payload.get("type") == "turn_aborted" and reading.said[-1].kind == "assistant_message":
            reading.said[-1].status = "cancelled"
        elif payload.get("type") == "thread_rolled_back":
            asked = [n for n, said in enumerate(reading.said) if said.kind == "user_message" and not said.hidden and said.in_context]
            for said in reading.said[asked[-payload["num_turns"]] :]:
                said.in_context = False
            answer = None
        elif kind == "response_item" and payload["type"] != "ghost_snapshot":
            answer = _codex_item(reading, place, payload, at, model, answer, prompts)
    return reading


def _codex_item(reading: Reading, place: str, item: Any, at: Any, model: str | None, answer: Said | None, prompts: list[str]) -> Said | None:
    kind = item["type"]
    if kind == "message" and item["role"] != "assistant":
        texts = [part["text"] for part in item["content"] if "text" in part]
        injected = item["role"] == "user" and bool(prompts) and not any(text in prompts for text in texts)
        said_by = "user_message" if item["role"] == "user" else "system_message"
        pieces = [("text", part["text"]) if "text" in part else at_url(part["image_url"]) for part in item["content"]]
        reading.add(said_by, place, pieces, at=at, hidden=injected)
        return None
    if kind in ("function_call_output", "custom_tool_call_output"):
        output = item["output"]
        is_error = isinstance(output, dict) and output["success"] is False
        text = output["content"] if isinstance(output, dict) else output
        reading.add("tool_result", place, [("text", text)], at=at, tool_call_id=item["call_id"], is_error=is_error)
        return None
    if answer is None:
        answer = reading.add("assistant_message", place, [], at=at, model=model)
    else:
        answer.places.append(place)
    answer.pieces += _codex_pieces(kind, item)
    return answer


def _codex_pieces(kind: str, item: Any) -> list[Piece]:
    if kind == "message":
        return [("text", part["text"]) for part in item["content"]]
    if kind == "reasoning":
        return [("reasoning", "\n\n".join(part["text"] for part in item["summary"]), item["encrypted_content"])]
    if kind == "local_shell_call":
        return [("call", item["call_id"], "local_shell", item["action"])]
    if kind in ("function_call", "custom_tool_call"):
        return [("call", item["call_id"], item["name"], item.get("arguments", item.get("input")))]
    return [("other", without_empty(item))]


def read_pi(raw: bytes) -> Reading:
    """pi sessions: all of a linear file, of a tree the way from the last line to the root."""
    reading = Reading()
    if raw.startswith(b"{\n"):
        reading.places.append("message 0")
        _pi_message(reading, "message 0", loads(raw), None)
        return reading
    records = list(_records(raw, reading))
    parents = {record["id"]: record["parentId"] for _, record in records if "parentId" in record}
    path, at = set(), records[-1][1].get("id")
    while at in parents:
        path.add(at)
        at = parents[at]
    for place, record in records:
        before = len(reading.said)
        moment = iso(record["timestamp"])
        if record["type"] == "message":
            _pi_message(reading, place, record["message"], moment)
        elif record["type"] == "custom_message":
            reading.add("user_message", place, [("text", record["content"])], at=moment, hidden=not record["display"])
        elif record["type"] in ("compaction", "branch_summary"):
            reading.add("user_message", place, [("text", record["summary"])], at=moment, in_context=record["type"] == "branch_summary")
        for said in reading.said[before:]:
            said.in_context = said.in_context and (not parents or record["id"] in path)
    return reading


def _pi_message(reading: Reading, place: str, message: Any, at: Any) -> None:
    at = at or since_1970(message["timestamp"])
    content = message.get("content", [])
    pieces: list[Piece] = [("text", content)] if isinstance(content, str) else [_pi_piece(block, message.get("api")) for block in content]
    if message["role"] == "assistant":
        status = {"aborted": "cancelled", "error": "failed"}.get(message["stopReason"], "completed")
        reading.add("assistant_message", place, pieces, at=at, status=status, model=message["model"])
    elif message["role"] == "toolResult":
        reading.add("tool_result", place, pieces or [("text", "")], at=at, tool_call_id=message["toolCallId"], is_error=message["isError"])
    elif message["role"] == "bashExecution":
        reading.add("user_message", place, [("command", message["command"])], at=at, in_context=not message.get("excludeFromContext"))
    else:
        reading.add("user_message", place, pieces, at=at)


def _pi_piece(block: Any, api: str | None) -> Piece:
    if block["type"] == "text":
        return ("text", block["text"])
    if block["type"] == "image":
        return media(block["mimeType"], block["data"])
    if block["type"] == "toolCall":
        return ("call", block["id"], block["name"], block.get("partialJson", block["arguments"]))
    seal = block.get("thinkingSignature")
    if api == "openai-responses":
        seal = json.loads(seal)["encrypted_content"]
    return ("reasoning", block["thinking"], None if api == "openai-completions" else seal or None)


def read_gemini_chat(raw: bytes) -> Reading:
    """Chats of the Gemini command line: a record with calls holds their results too."""
    reading = Reading()
    for number, record in enumerate(loads(raw)["messages"]):
        place, at = f"message {number}", iso(record["timestamp"])
        reading.places.append(place)
        if record["type"] == "user":
            reading.add("user_message", place, [("text", record["content"])], at=at)
        if record["type"] != "gemini":
            continue
        pieces: list[Piece] = [("reasoning", f"**{each['subject']}**\n\n{each['description']}", None) for each in record.get("thoughts", ())]
        pieces += [("text", record["content"])] if record["content"] else []
        calls = record.get("toolCalls", [])
        pieces += [("call", call["id"], call["name"], call["args"]) for call in calls]
        reading.add("assistant_message", place, pieces, at=at, model=record["model"])
        for call in calls:
            for part in call.get("result", ()):
                ((key, text),) = part["functionResponse"]["response"].items()
                failed = key == "error" or call["status"] != "success"
                reading.add("tool_result", place, [("text", text)], at=iso(call["timestamp"]), tool_call_id=call["id"], is_error=failed)
    return reading


def read_ai_sdk(raw: bytes) -> Reading:
    """UI messages: a step ends at its mark, and where something is said after results."""
    document, reading = loads(raw), Reading()
    for number, message in enumerate(document if isinstance(document, list) else document["messages"]):
        place = f"message {number}"
        reading.places.append(place)
        created = message.get("createdAt", message.get("metadata", {}).get("createdAt"))
        at = iso(created) if isinstance(created, str) else since_1970(created) if created else None
        if message["role"] in ("user", "system"):
            parts = message.get("parts") or [{"type": "text", "text": message["content"]}]
            pieces = [_ui_piece(part) for part in [*parts, *[{"type": "file", **each} for each in message.get("experimental_attachments", ())]]]
            reading.add(f"{message['role']}_message", place, pieces, at=at)
        elif message["role"] == "assistant":
            _ui_answer(reading, place, message, at)
    return reading


def _ui_answer(reading: Reading, place: str, message: Any, at: Any) -> None:
    parts = message.get("parts")
    if parts is None:
        parts = [{"type": "reasoning", "text": message["reasoning"]}, {"type": "text", "text": message["content"]}]
        parts += [{"type": "tool-invocation", "toolInvocation": call} for call in message["toolInvocations"]]
    model = message.get("metadata", {}).get("model")
    answer: Said | None = None
    results: list[Said] = []
    last_item = None

    def end() -> None:
        nonlocal answer
        reading.said.extend(results)
        results.clear()
        answer = None

    for part in parts:
        tool = part.get("toolInvocation", part)
        is_tool = "toolCallId" in tool and not part.get("providerExecuted")
        if part["type"] == "step-start" or (results and not is_tool and part["type"] in ("text", "reasoning")):
            end()
        if part["type"] == "step-start":
            continue
        if part["type"] == "tool-call" and any(said.tool_call_id not in {p[1] for p in (answer.pieces if answer else ())} for said in results):
            end()
        if answer is None and part["type"] != "tool-result":
            answer = reading.add("assistant_message", place, [], at=at, model=model)
        if is_tool:
            _ui_tool(place, part, tool, answer, results, at)
            continue
        assert answer is not None
        item = part.get("providerMetadata", {}).get("openai", {}).get("itemId")
        if part["type"] == "reasoning" and item is not None and item == last_item:
            _, text, _ = answer.pieces.pop()
            answer.pieces.append(("reasoning", f"{text}\n\n{part['text']}", part["providerMetadata"]["openai"]["reasoningEncryptedContent"]))
        else:
            answer.pieces.append(_ui_piece(part))
        last_item = item
    end()


def _ui_tool(place: str, part: Any, tool: Any, answer: Said | None, results: list[Said], at: Any) -> None:
    name = tool.get("toolName") or part["type"].removeprefix("tool-")
    if part["type"] != "tool-result":
        assert answer is not None
        answer.pieces.append(("call", tool["toolCallId"], name, tool.get("input", tool.get("args"))))
        if tool["state"] in ("input-streaming", "partial-call"):
            answer.status = "interrupted"
    if tool["state"] in ("output-available", "result"):
        output = tool.get("output", tool.get("result"))
        piece = ("text", output) if isinstance(output, str) else ("json", output)
        results.append(Said("tool_result", [place], [piece], tool["toolCallId"], at=at))
    elif tool["state"] in ("output-error", "output-denied"):
        text = tool.get("errorText") or tool["approval"]["reason"]
        results.append(Said("tool_result", [place], [("text", text)], tool["toolCallId"], True, at=at))


def _ui_piece(part: Any) -> Piece:
    if part["type"] == "text":
        return ("text", part["text"])
    if part["type"] == "reasoning":
        (given,) = part.get("providerMetadata", {"": {}}).values()
        (detail,) = part.get("details", [{}])
        signed = detail.get("signature")
        return ("reasoning", part.get("text") or part["reasoning"], given.get("signature") or given.get("reasoningEncryptedContent") or signed)
    return at_url(part["url"]) if part["type"] == "file" else ("other", part)
