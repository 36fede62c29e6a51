"""Floor 3: the Messages wire format of Anthropic and of the servers that speak it. A stranger to the other formats.

Pure: bytes in, bytes out; no clock, no chance, nothing sent and nothing read.
"""

from app.formats.anthropic.counting import COUNTING
from app.formats.anthropic.errors import read_error, write_error
from app.formats.anthropic.read_stream import MessagesStreamReader
from app.formats.anthropic.rules import DIALECT, HEADERS, PROMPT_ORDER, path, rules_for
from app.formats.anthropic.validate import validate
from app.formats.anthropic.write_request import write_request
from app.formats.anthropic.write_stream import MessagesStreamWriter
from app.formats.protocols import Format

FORMAT = Format(
    DIALECT,
    path,
    rules_for,
    write_request,
    MessagesStreamReader,
    MessagesStreamWriter,
    read_error,
    write_error,
    validate,
    auth="x-api-key",
    headers=HEADERS,
    counting=COUNTING,
    prompt_order=PROMPT_ORDER,
)
