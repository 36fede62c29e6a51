"""The official SDK as judge: botocore's own validation, serialisation and parsing, and the enums and patterns of its service model."""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import orjson
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.session import get_session
from botocore.validate import ParamValidator

MODEL = "anthropic.claude-sonnet-5-20260101-v1:0"


@cache
def shape_of(operation: str) -> Any:
    model: Any = get_session().get_service_model("bedrock-runtime")
    return model.operation_model(operation).input_shape


def params(body: Any, shape: Any, said: list[str], at: str = "$") -> Any:
    """A REST body as the SDK's methods take it: base64 texts become bytes. Appends to `said` what the service model refuses and botocore's
    own validator is silent about: enums, patterns, upper limits, unions with other than one member, booleans for numbers."""
    if shape.type_name == "structure" and isinstance(body, Mapping) and not getattr(shape, "is_document_type", False):
        if getattr(shape, "is_tagged_union", False) and len(body) != 1:
            said.append(f"{at}: one member")
        return {key: params(value, shape.members[key], said, f"{at}.{key}") if key in shape.members else value for key, value in body.items()}
    if shape.type_name in ("list", "map") and isinstance(body, list | Mapping) and len(body) > shape.metadata.get("max", len(body)):
        said.append(f"{at}: length")
    if shape.type_name == "list" and isinstance(body, list):
        return [params(item, shape.member, said, f"{at}[{index}]") for index, item in enumerate(body)]
    if shape.type_name == "map" and isinstance(body, Mapping):
        return {key: params(value, shape.value, said, f"{at}.{key}") for key, value in body.items()}
    if shape.type_name == "blob" and isinstance(body, str):
        try:
            return b64decode(body, validate=True)
        except ValueError:
            said.append(f"{at}: base64")
    if shape.type_name in ("integer", "float") and isinstance(body, int | float):
        said += [f"{at}: number"] * (isinstance(body, bool) or body > shape.metadata.get("max", body))
    if isinstance(body, str):
        pattern = shape.metadata.get("pattern")
        if shape.metadata.get("enum") and body not in shape.metadata["enum"]:
            said.append(f"{at}: enum")
        if pattern and not re.fullmatch(pattern, body):
            said.append(f"{at}: pattern")
        if shape.type_name == "string" and len(body) > shape.metadata.get("max", len(body)):
            said.append(f"{at}: length")
    return body


def objections(body: bytes | Mapping[str, Any], operation: str = "ConverseStream") -> list[str]:
    """What botocore has against a body."""
    said: list[str] = []
    found = params(orjson.loads(body) if isinstance(body, bytes) else body, shape_of(operation), said)
    report = ParamValidator().validate({**found, "modelId": MODEL} if isinstance(found, dict) else found, shape_of(operation))
    return said + ([report.generate_report()] if report.has_errors() else [])


class _Raw:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, amount: int = 1024, decode_content: bool = True) -> Iterator[bytes]:
        for start in range(0, len(self._content), 7):
            yield self._content[start : start + 7]

    def read(self, amount: int | None = None) -> bytes:
        return self._content

    def close(self) -> None:
        """Nothing is open."""


class Client:
    """A client of the SDK whose connection is canned; `requests` are what it would have sent."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.answer = b""
        self.client: Any = get_session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            aws_access_key_id="AKIAMADEUP",
            aws_secret_access_key="made-up",
            config=Config(retries={"total_max_attempts": 1}),
        )
        events: Any = self.client.meta.events
        events.register("before-send.bedrock-runtime.*", self._send)

    def _send(self, request: Any, **_: Any) -> AWSResponse:
        self.requests.append(request)
        raw: Any = _Raw(self.answer)  # as much of urllib3's response as the SDK reads
        headers = HTTPHeaders.from_dict({"content-type": "application/vnd.amazon.eventstream"})
        return AWSResponse(request.url, 200, headers, raw)

    def sent(self, body: Mapping[str, Any], model: str) -> Any:
        """The request that the SDK makes of a body's parameters."""
        self.answer = b""
        self.client.converse_stream(modelId=model, **params(dict(body), shape_of("ConverseStream"), []))
        return self.requests[-1]

    def events(self, stream: bytes) -> list[dict[str, Any]]:
        """The events that the SDK reads from a stream. Raises `botocore.exceptions.EventStreamError`."""
        self.answer = stream
        answer = self.client.converse_stream(modelId=MODEL, messages=[{"role": "user", "content": [{"text": "q"}]}])
        return list(answer["stream"])


@cache
def client() -> Client:
    return Client()


def assembled(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Text, reasoning, signatures, calls, stop reason and usage, as a program puts the SDK's events together."""
    found: dict[str, Any] = {"text": "", "reasoning": "", "signatures": [], "redacted": [], "calls": [], "stop": None, "usage": None}
    for event in events:
        kind, value = next(iter(event.items()))
        if kind == "contentBlockStart" and value["start"].get("toolUse", {"type": "server_tool_use"}).get("type") != "server_tool_use":
            call = value["start"]["toolUse"]
            found["calls"].append([value["contentBlockIndex"], call["toolUseId"], call["name"], ""])
        elif kind == "contentBlockDelta":
            delta, index = value["delta"], value["contentBlockIndex"]
            thought = delta.get("reasoningContent", {})
            found["text"] += delta.get("text", "")
            found["reasoning"] += thought.get("text", "")
            found["signatures"] += [thought["signature"]] if "signature" in thought else []
            found["redacted"] += [thought["redactedContent"]] if "redactedContent" in thought else []
            for call in found["calls"]:
                if call[0] == index and "toolUse" in delta:
                    call[3] += delta["toolUse"]["input"]
        elif kind == "messageStop":
            found["stop"] = value["stopReason"]
        elif kind == "metadata":
            found["usage"] = value["usage"]
    return found
