"""The shape of a Converse request over REST, as data: which keys there are, and what each takes.

Source: botocore 1.44.8's model of `ConverseStream`, which takes what `Converse` takes and one key more; the model id is in the path.
Reasoning and citations go back as the provider gave them, so a key in them that it has learnt since is none of our business.
"""

import re

from app.formats.bedrock.rules import FILE_NAME_CHARS_MAX, METADATA_PAIRS_MAX, RESPONSE_PATHS_MAX, STOPS_MAX
from app.formats.bedrock.shapes import Blob, Flag, Free, Items, Number, Struct, Table, Text

_ANY_TEXT = Text()
_SAID = Text(least=1)
_NAME = Text(1, 64, re.compile(r"[a-zA-Z0-9_-]+"))
_CALL_ID = Text(1, 64, re.compile(r"[a-zA-Z0-9_.:-]+"))
_COUNT = Number(least=0, whole=True)

_S3 = Struct(
    {"uri": Text(1, 1024, re.compile(r"s3://[a-z0-9][\.\-a-z0-9]{1,61}[a-z0-9](/.*)?")), "bucketOwner": Text(pattern=re.compile(r"[0-9]{12}"))},
    ("uri",),
)
_SOURCE = Struct({"bytes": Blob(), "s3Location": _S3}, one=True)
_ERROR = Struct({"message": _ANY_TEXT})
CACHE_POINT = Struct({"type": Text(words=("default",)), "ttl": Text(words=("5m", "1h"))}, ("type",))
_CITED = Struct({"enabled": Flag()}, ("enabled",))
_SEARCH_RESULT = Struct(
    {"source": _ANY_TEXT, "title": _ANY_TEXT, "content": Items(Struct({"text": _ANY_TEXT}, ("text",))), "citations": _CITED},
    ("source", "title", "content"),
)
_IMAGE = Struct({"format": Text(words=("png", "jpeg", "gif", "webp")), "source": _SOURCE, "error": _ERROR}, ("format", "source"))
_DOCUMENT = Struct(
    {
        "format": Text(words=("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md")),
        "name": Text(1, FILE_NAME_CHARS_MAX),
        "source": Struct({"bytes": Blob(), "s3Location": _S3, "text": _ANY_TEXT, "content": Items(Struct({"text": _ANY_TEXT}, one=True))}, one=True),
        "context": _ANY_TEXT,
        "citations": _CITED,
    },
    ("name", "source"),
)
_VIDEO = Struct(
    {"format": Text(words=("mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp")), "source": _SOURCE}, ("format", "source")
)
_SOUNDS = ("mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a", "mpeg", "mpga", "pcm", "webm")
_AUDIO = Struct({"format": Text(words=_SOUNDS), "source": _SOURCE, "error": _ERROR}, ("format", "source"))
_GUARDED = Struct(
    {
        "text": Struct({"text": _ANY_TEXT, "qualifiers": Items(Text(words=("grounding_source", "query", "guard_content")))}, ("text",)),
        "image": Struct({"format": Text(words=("png", "jpeg")), "source": Struct({"bytes": Blob()}, one=True)}, ("format", "source")),
    },
    one=True,
)
_SPAN = {"start": _COUNT, "end": _COUNT}
_PLACE = Struct(
    {
        "web": Struct({"url": _ANY_TEXT, "domain": _ANY_TEXT}),
        "documentChar": Struct({"documentIndex": _COUNT, **_SPAN}),
        "documentPage": Struct({"documentIndex": _COUNT, **_SPAN}),
        "documentChunk": Struct({"documentIndex": _COUNT, **_SPAN}),
        "searchResultLocation": Struct({"searchResultIndex": _COUNT, **_SPAN}),
    },
    one=True,
)
_CITATION = Struct(
    {"title": _ANY_TEXT, "source": _ANY_TEXT, "sourceContent": Items(Struct({"text": _ANY_TEXT}, one=True)), "location": _PLACE}, open=True
)
_CITED_TEXT = Struct({"content": Items(Struct({"text": _ANY_TEXT}, one=True)), "citations": Items(_CITATION)}, open=True)
_REASONING = Struct(
    {"reasoningText": Struct({"text": _ANY_TEXT, "signature": _ANY_TEXT}, ("text",), open=True), "redactedContent": Blob()},
    one=True,
)
_TOOL_CHANGE = Struct(
    {"tool": Struct({"type": Text(1, 64), "name": Text(1, 128), "serverName": Text(1, 128)})},
    ("tool",),
)
TOOL_USE = Struct(
    {"toolUseId": _CALL_ID, "name": _NAME, "input": Free(object_only=True), "type": Text(words=("server_tool_use",))}, ("toolUseId", "name", "input")
)
TOOL_RESULT = Struct(
    {
        "toolUseId": _CALL_ID,
        "content": Items(
            Struct(
                {"text": _ANY_TEXT, "json": Free(), "image": _IMAGE, "document": _DOCUMENT, "video": _VIDEO, "searchResult": _SEARCH_RESULT}, one=True
            )
        ),
        "status": Text(words=("success", "error")),
        "type": _ANY_TEXT,
    },
    ("toolUseId", "content"),
)
BLOCK = Struct(
    {
        "text": _ANY_TEXT,
        "image": _IMAGE,
        "document": _DOCUMENT,
        "video": _VIDEO,
        "audio": _AUDIO,
        "toolUse": TOOL_USE,
        "toolResult": TOOL_RESULT,
        "reasoningContent": _REASONING,
        "cachePoint": CACHE_POINT,
        "citationsContent": _CITED_TEXT,
        "searchResult": _SEARCH_RESULT,
        "guardContent": _GUARDED,
        "toolAddition": _TOOL_CHANGE,
        "toolRemoval": _TOOL_CHANGE,
    },
    one=True,
)
MESSAGE = Struct({"role": Text(words=("user", "assistant", "system")), "content": Items(BLOCK, least=1)}, ("role", "content"))

_TOOL = Struct(
    {
        "toolSpec": Struct(
            {"name": _NAME, "description": _SAID, "inputSchema": Struct({"json": Free(object_only=True)}, one=True), "strict": Flag()},
            ("name", "inputSchema"),
        ),
        "systemTool": Struct({"name": _NAME}, ("name",)),
        "cachePoint": CACHE_POINT,
    },
    one=True,
)
_FORMAT = Struct(
    {
        "type": Text(words=("json_schema",)),
        "structure": Struct({"jsonSchema": Struct({"schema": _ANY_TEXT, "name": _ANY_TEXT, "description": _ANY_TEXT}, ("schema",))}, one=True),
    },
    ("type", "structure"),
)
_GUARDRAIL = Struct(
    {
        "guardrailIdentifier": Text(0, 2048, re.compile(r"([a-z0-9]*)|(arn:aws(-[^:]+)?:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:guardrail/[a-z0-9]+)")),
        "guardrailVersion": Text(pattern=re.compile(r"([1-9][0-9]{0,7})?|DRAFT")),
        "trace": Text(words=("enabled", "disabled", "enabled_full")),
        "streamProcessingMode": Text(words=("sync", "async")),
    }
)
OPTIONS = Struct(
    {
        "messages": Free(),
        "system": Items(Struct({"text": _SAID, "guardContent": _GUARDED, "cachePoint": CACHE_POINT}, one=True)),
        "inferenceConfig": Struct(
            {"maxTokens": Number(least=1, whole=True), "temperature": Number(0, 1), "topP": Number(0, 1), "stopSequences": Items(_SAID, 0, STOPS_MAX)}
        ),
        "toolConfig": Struct(
            {
                "tools": Items(_TOOL, least=1),
                "toolChoice": Struct({"auto": Struct({}), "any": Struct({}), "tool": Struct({"name": _NAME}, ("name",))}, one=True),
            },
            ("tools",),
        ),
        "outputConfig": Struct({"textFormat": _FORMAT, "effort": Text(0, 16)}),
        "additionalModelRequestFields": Free(),
        "additionalModelResponseFieldPaths": Items(Text(1, 256), 0, RESPONSE_PATHS_MAX),
        "requestMetadata": Table(Text(0, 256, re.compile(r"[a-zA-Z0-9\s:_@$#=/+,-.]*")), METADATA_PAIRS_MAX),
        "guardrailConfig": _GUARDRAIL,
        "performanceConfig": Struct({"latency": Text(words=("standard", "optimized"))}),
        "serviceTier": Struct({"type": Text(words=("priority", "default", "flex", "reserved"))}, ("type",)),
        "promptVariables": Table(Struct({"text": _ANY_TEXT}, one=True)),
        "projectIdentifier": Text(1, 2048),
    }
)
"""Everything but the messages, which are judged one by one."""
