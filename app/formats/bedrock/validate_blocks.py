"""What may stand in a message of Converse, beside what, and how often (wire-format notes 6.2)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.formats.bedrock.rules import FILES_PER_MESSAGE_MAX, IMAGES_PER_MESSAGE_MAX, RULES
from app.formats.bedrock.shapes import Found
from app.formats.protocols import Violation
from app.models.wire_rules import WireRules

_FILE_NAME = re.compile(r"(?:[a-zA-Z0-9\-()\[\]]|\s(?!\s))+")
_MEDIA = frozenset({"image", "document", "video", "audio"})
_MOST = {"image": IMAGES_PER_MESSAGE_MAX, "document": FILES_PER_MESSAGE_MAX}
_ONLY_IN_ANSWERS = {"toolUse": "call-in-input", "reasoningContent": "reasoning-in-input", "citationsContent": "citations-in-input"}


@dataclass(slots=True)
class Files:
    """What is counted over the whole request."""

    names: set[str] = field(default_factory=set)
    cache_points: int = 0


def check_blocks(content: Sequence[Any], role: str, at: str, rules: WireRules, open_calls: dict[str, str], files: Files, found: Found) -> bool:
    """Judges the blocks of one message. `open_calls`: id → pointer of the calls of the answer before, changed to those that are open
    behind this message. Returns whether there was a call or a result."""
    kinds = [next(iter(block), "") if isinstance(block, Mapping) else "" for block in content]
    for number, (block, kind) in enumerate(zip(content, kinds, strict=True)):
        place = f"{at}/{number}"
        if kind == "text":
            _blank(block, place, rules, found)
        elif kind == "cachePoint":
            files.cache_points += 1
            cache_point(kinds, number, place, found)
        elif kind in _MEDIA:
            if role == "assistant":
                found.append(Violation(place, "media-in-answer", "Images, documents, sound and video stand in user messages only."))
            _file(block.get(kind), kind, f"{place}/{kind}", rules, files, found)
        elif kind in _ONLY_IN_ANSWERS and role == "user":
            found.append(Violation(place, _ONLY_IN_ANSWERS[kind], "This block stands in answers only."))
    if role == "assistant":
        unanswered(open_calls, found)
        _calls(content, at, rules, open_calls, found)
    elif role == "user":
        _results(content, at, rules, open_calls, files, found)
        unanswered(open_calls, found)
        _beside(kinds, at, rules, found)
    _counted(content, at, found)
    return "toolUse" in kinds or "toolResult" in kinds


def cache_point(kinds: Sequence[str], number: int, place: str, found: Found) -> None:
    """A cache point needs something before it to cache, which no document may be, nor another one."""
    before = kinds[number - 1] if number else ""
    if number == 0:
        found.append(Violation(place, "cache-point-first", "A cache point stands behind something."))
    elif before in ("cachePoint", "document"):
        found.append(Violation(place, "cache-point-misplaced", "A cache point stands neither behind another nor right behind a document."))


def _blank(block: Mapping[str, Any], place: str, rules: WireRules, found: Found) -> None:
    text = block.get("text")
    if isinstance(text, str) and not rules.blank_texts and (not text or text.isspace()):
        found.append(Violation(f"{place}/text", "text-blank", "A text has something to say."))


def _calls(content: Sequence[Any], at: str, rules: WireRules, open_calls: dict[str, str], found: Found) -> None:
    seen: set[str] = set()
    for number, block in enumerate(content):
        call = block.get("toolUse") if isinstance(block, Mapping) else None
        result = block.get("toolResult") if isinstance(block, Mapping) else None
        if isinstance(result, Mapping) and "type" not in result:
            found.append(Violation(f"{at}/{number}", "result-in-answer", "Results of called tools stand in user messages only."))
        if not isinstance(call, Mapping):
            continue
        place, call_id = f"{at}/{number}/toolUse", call.get("toolUseId")
        if not isinstance(call_id, str):
            continue
        if call_id in seen:
            found.append(Violation(f"{place}/toolUseId", "call-id-repeated", "Two calls of one message bear the same id."))
        seen.add(call_id)
        if rules.call_id_pattern != RULES.call_id_pattern and not re.fullmatch(rules.call_id_pattern, call_id):
            found.append(Violation(f"{place}/toolUseId", "call-id-invalid", f"A tool call id matches {rules.call_id_pattern}."))
        if call.get("type") != "server_tool_use":
            open_calls[call_id] = place


def _results(content: Sequence[Any], at: str, rules: WireRules, open_calls: dict[str, str], files: Files, found: Found) -> None:
    answered: set[str] = set()
    for number, block in enumerate(content):
        result = block.get("toolResult") if isinstance(block, Mapping) else None
        if not isinstance(result, Mapping):
            continue
        place, call_id = f"{at}/{number}/toolResult", result.get("toolUseId")
        if not isinstance(call_id, str) or open_calls.pop(call_id, None) is None:
            code = "result-repeated" if isinstance(call_id, str) and call_id in answered else "result-without-call"
            found.append(Violation(f"{place}/toolUseId", code, "A result answers one call of the answer before it."))
        else:
            answered.add(call_id)
        inner = result.get("content")
        if result.get("status") is not None and not rules.result_status:
            found.append(Violation(f"{place}/status", "status-not-taken", "This model takes no status of a result."))
        if result.get("status") == "error" and not inner:
            found.append(Violation(f"{place}/content", "error-result-empty", "A failed result says something."))
        for position, piece in enumerate(inner if isinstance(inner, list | tuple) else ()):
            kind = next(iter(piece), "") if isinstance(piece, Mapping) else ""
            if kind == "text":
                _blank(piece, f"{place}/content/{position}", rules, found)
            elif kind in _MEDIA:
                _file(piece.get(kind), kind, f"{place}/content/{position}/{kind}", rules, files, found)


def _beside(kinds: Sequence[str], at: str, rules: WireRules, found: Found) -> None:
    if "toolResult" in kinds:
        for number, kind in enumerate(kinds):
            alone = rules.reply_after_results and kind not in ("toolResult", "cachePoint")
            if alone or (kind in ("document", "video") and not rules.files_beside_results):
                found.append(Violation(f"{at}/{number}", "beside-results", "This may not stand in one message with results."))
    if "document" in kinds and "text" not in kinds:
        found.append(Violation(at, "document-without-text", "Beside a document stands a text."))


def _counted(content: Sequence[Any], at: str, found: Found) -> None:
    for kind, most in _MOST.items():
        count = 0
        for block in content:
            if isinstance(block, Mapping):
                inner = block.get("toolResult")
                pieces = inner.get("content") if isinstance(inner, Mapping) else None
                listed = pieces if isinstance(pieces, list | tuple) else ()
                count += (kind in block) + sum(isinstance(piece, Mapping) and kind in piece for piece in listed)
        if count > most:
            found.append(Violation(at, f"{kind}s-too-many", f"At most {most} of these are taken in one message."))


def _file(file: Any, kind: str, place: str, rules: WireRules, files: Files, found: Found) -> None:
    if not isinstance(file, Mapping):
        return
    source = file.get("source")
    data = source.get("bytes") if isinstance(source, Mapping) else None
    most = {"image": rules.image_bytes_max, "document": rules.file_bytes_max}.get(kind, 0)
    if isinstance(data, str) and most and len(data) * 3 // 4 - data[-2:].count("=") > most:
        found.append(Violation(f"{place}/source/bytes", f"{kind}-too-large", f"At most {most} bytes are taken."))
    name = file.get("name")
    if kind != "document" or not isinstance(name, str):
        return
    if name and not _FILE_NAME.fullmatch(name):
        what = "letters, digits, single blanks, hyphens and brackets"
        found.append(Violation(f"{place}/name", "name-invalid", f"The name of a document is made of {what}."))
    if name in files.names:
        found.append(Violation(f"{place}/name", "name-repeated", "Two documents of a request bear the same name."))
    files.names.add(name)


def unanswered(open_calls: dict[str, str], found: Found) -> None:
    """Appends a violation for each call that is still open, and closes them."""
    found.extend(Violation(at, "call-without-result", "A call has to be answered in the message behind it.") for at in open_calls.values())
    open_calls.clear()
