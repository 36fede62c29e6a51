"""Floor 3: the Responses wire format of OpenAI and of the servers that speak it. A stranger to the other formats.

Pure: bytes in, bytes out; no clock, no chance, nothing sent and nothing read.
"""

from app.formats.openai_refusals import read_error, write_error
from app.formats.openai_responses.counting import COUNTING
from app.formats.openai_responses.read_stream import ResponsesStreamReader
from app.formats.openai_responses.rules import DIALECT, PROMPT_ORDER, path, rules_for
from app.formats.openai_responses.validate import validate
from app.formats.openai_responses.write_request import write_request
from app.formats.openai_responses.write_stream import ResponsesStreamWriter
from app.formats.protocols import Format

FORMAT = Format(
    DIALECT,
    path,
    rules_for,
    write_request,
    ResponsesStreamReader,
    ResponsesStreamWriter,
    read_error,
    write_error,
    validate,
    counting=COUNTING,
    prompt_order=PROMPT_ORDER,
)
