"""What Gemini refuses of the turns of a conversation: roles, calls and responses, signatures, media (wire-format notes 5.2).

Contents are in canonical form. Names in the history need not be declared (12.8), and empty text is tolerated.
"""

import base64
import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.gemini_models import since, wants_signatures
from tests.fakes.gemini_proto import Breach

_STAND_INS = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")
STAND_INS = frozenset({*_STAND_INS, *map(base64.urlsafe_b64decode, _STAND_INS)})
"""What Google lets stand for the signature of a call that none of its models made: base64 of these words, or the words as they are."""

_ORDER = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
_NUMBER = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
_PICTURES = re.compile(r"image/(png|jpeg|webp|heic|heif)|application/(pdf|json|xml)|(audio|video|text)/.+")
_BY_MODEL = {"functionCall", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"}


def calls(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls of one content."""
    return [part["functionCall"] for part in content.get("parts", ()) if "functionCall" in part]


def responses(content: dict[str, Any]) -> list[dict[str, Any]]:
    """The function responses of one content."""
    return [part["functionResponse"] for part in content.get("parts", ()) if "functionResponse" in part]


def turn_breaches(contents: list[dict[str, Any]], model: str) -> Iterator[Breach]:
    """What is wrong with a conversation that is not empty."""
    yield from _each(contents, model)
    if contents[0].get("role") == "model":
        yield Breach("Please ensure that the conversation starts with a user turn.")
    if contents[-1].get("role") == "model" and since(model, 4):
        yield Breach("Requests that end with a model turn are not supported for this model.")
    for index, content in enumerate(contents):
        before = contents[index - 1] if index else {}
        after = contents[index + 1] if index + 1 < len(contents) else {}
        if calls(content):
            if before.get("role") != "user":
                yield Breach(_ORDER)
            yield from _answered(calls(content), responses(after) if after.get("role") == "user" else [])
        if responses(content):
            if not calls(before):
                yield Breach(_NUMBER)
            if len(responses(content)) != len(content["parts"]):
                yield Breach("Function response parts can not be mixed with other parts in one content.")
    if wants_signatures(model):
        yield from _signed(contents)


def _each(contents: list[dict[str, Any]], model: str) -> Iterator[Breach]:
    """Each content and each part by itself."""
    for index, content in enumerate(contents):
        at = f"* GenerateContentRequest.contents[{index}]"
        role = content.get("role")
        if role not in ("user", "model") and not (role is None and len(contents) == 1):
            yield Breach("Please use a valid role: user, model.")
        if not content.get("parts"):
            yield Breach(f"{at}.parts: contents.parts must not be empty.")
        for number, part in enumerate(content.get("parts", ())):
            where = f"{at}.parts[{number}]"
            if part.keys() & _BY_MODEL and role != "model":
                yield Breach(f"{where}: only a model turn can have a function call or code.")
            if "functionResponse" in part and role == "model":
                yield Breach(f"{where}: only a user turn can have a function response.")
            if (part.get("thought") or "thoughtSignature" in part) and role != "model":
                yield Breach(f"{where}: only a model turn can have thoughts.")
            for key in ("functionCall", "functionResponse"):
                if key in part and not part[key].get("name"):
                    yield Breach(f"{where}.{'function_call' if key == 'functionCall' else 'function_response'}.name: Name cannot be empty.")
            yield from _media(part, where)
            yield from _response(part.get("functionResponse"), where, model)


def _response(response: dict[str, Any] | None, at: str, model: str) -> Iterator[Breach]:
    if response is None:
        return
    if "response" not in response:
        yield Breach(f"{at}.function_response.response: required field is not set.")
    if response.get("parts") and not since(model, 3) and model.startswith("gemini-"):
        yield Breach("Multimodal function responses are not supported for this model.")
    for part in response.get("parts", ()):
        yield from _media(part, at)


def _media(part: dict[str, Any], at: str) -> Iterator[Breach]:
    blob, file = part.get("inlineData"), part.get("fileData")
    if blob is not None:
        if not _PICTURES.fullmatch(blob.get("mimeType", "")):
            yield Breach(f"Unsupported MIME type: {blob.get('mimeType', '')}")
        if not blob.get("data"):
            yield Breach(f"{at}.inline_data.data: required field is not set.")
    if file is not None and not file.get("fileUri"):
        yield Breach(f"{at}.file_data.file_uri: required field is not set.")


def _answered(asked: list[dict[str, Any]], given: list[dict[str, Any]]) -> Iterator[Breach]:
    """Responses go with calls by id where the calls have ids, else by name, in the order of the calls."""
    if len(asked) != len(given):
        yield Breach(_NUMBER)
        return
    ids = [call.get("id") for call in asked]
    if all(ids):
        if len(set(ids)) != len(ids):
            yield Breach("Function call ids must be unique within a turn.")
        names = {response.get("id"): response.get("name") for response in given}
        if names != {call["id"]: call.get("name") for call in asked}:
            yield Breach("Function response ids and names do not match those of the function call turn.")
    elif [(call.get("id"), call.get("name")) for call in asked] != [(response.get("id"), response.get("name")) for response in given]:
        yield Breach("Function response names do not match those of the function call turn, in its order.")


def current_turn(contents: list[dict[str, Any]]) -> int:
    """Where the current turn begins: at the last content of a user that is more than function responses."""
    starts = [index for index, content in enumerate(contents) if content.get("role") == "user" and not responses(content)]
    return starts[-1] if starts else 0


def _signed(contents: list[dict[str, Any]]) -> Iterator[Breach]:
    """Each model content of the current turn is a step, and the first call of a step has its signature."""
    begins = current_turn(contents)
    for index, content in enumerate(contents[begins:], begins):
        first = next((part for part in content.get("parts", ()) if "functionCall" in part), None)
        if first is not None and not first.get("thoughtSignature"):
            name = first["functionCall"].get("name")
            yield Breach(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. "
                f"Additional data, function call `default_api:{name}`, position {index + 1}."
            )
