"""THE table of formats: dialect → its directions, and import format → its reader."""

from collections.abc import Mapping
from types import MappingProxyType

from app.formats.claude_code.read import read as read_claude_code
from app.formats.jsonl.read import read as read_jsonl
from app.formats.openai_chat.errors import read_error
from app.formats.openai_chat.read_request import read as read_openai_chat
from app.formats.openai_chat.read_stream import ChatStreamReader
from app.formats.openai_chat.rules import DIALECT, PATH
from app.formats.openai_chat.validate import validate
from app.formats.openai_chat.write_request import write_request
from app.formats.openai_chat.write_stream import ChatStreamWriter
from app.formats.protocols import Format, Importer

FORMATS: Mapping[str, Format] = MappingProxyType(
    {DIALECT: Format(DIALECT, PATH, write_request, ChatStreamReader, ChatStreamWriter, read_error, validate)},
)

IMPORTERS: Mapping[str, Importer] = MappingProxyType({"jsonl": read_jsonl, "openai-chat": read_openai_chat, "claude-code": read_claude_code})
