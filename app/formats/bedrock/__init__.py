"""Floor 3: the Converse wire format of Amazon Bedrock. A stranger to the other formats.

Pure: bytes in, bytes out; no clock, no chance, nothing sent and nothing read.
"""

from app.formats.bedrock.counting import COUNTING
from app.formats.bedrock.errors import read_error, write_error
from app.formats.bedrock.families import rules_for
from app.formats.bedrock.model_ids import path
from app.formats.bedrock.read_stream import ConverseStreamReader
from app.formats.bedrock.rules import DIALECT
from app.formats.bedrock.validate import validate
from app.formats.bedrock.write_request import write_request
from app.formats.bedrock.write_stream import ConverseStreamWriter
from app.formats.protocols import Format

FORMAT = Format(
    DIALECT,
    path,
    rules_for,
    write_request,
    ConverseStreamReader,
    ConverseStreamWriter,
    read_error,
    write_error,
    validate,
    auth="aws",
    accept="application/vnd.amazon.eventstream",
    counting=COUNTING,
    prompt_order=("toolConfig", "system", "messages"),
)
