"""Floor 3: the wire format of Gemini's generateContent, on Google's Developer API and on Vertex. A stranger to the other formats.

Pure: bytes in, bytes out; no clock, no chance, nothing sent and nothing read.
"""

from app.formats.gemini.counting import COUNTING
from app.formats.gemini.errors import read_error, write_error
from app.formats.gemini.read_stream import GeminiStreamReader
from app.formats.gemini.rules import DIALECT, path, rules_for
from app.formats.gemini.validate import validate
from app.formats.gemini.write_request import write_request
from app.formats.gemini.write_stream import GeminiStreamWriter
from app.formats.protocols import Format

FORMAT = Format(
    DIALECT,
    path,
    rules_for,
    write_request,
    GeminiStreamReader,
    GeminiStreamWriter,
    read_error,
    write_error,
    validate,
    auth="x-goog-api-key",
    counting=COUNTING,
    prompt_order=("systemInstruction", "tools", "contents"),
)
