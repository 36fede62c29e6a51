"""Floor 3: the Chat Completions wire format of OpenAI and of the servers that speak it. A stranger to the other formats.

Pure: bytes in, bytes out; no clock, no chance, nothing sent and nothing read.
"""

from app.formats.openai_chat.read_stream import ChatStreamReader
from app.formats.openai_chat.rules import DIALECT, path, rules_for
from app.formats.openai_chat.validate import validate
from app.formats.openai_chat.write_request import write_request
from app.formats.openai_chat.write_stream import ChatStreamWriter
from app.formats.openai_refusals import read_error, write_error
from app.formats.protocols import Format

FORMAT = Format(DIALECT, path, rules_for, write_request, ChatStreamReader, ChatStreamWriter, read_error, write_error, validate)
