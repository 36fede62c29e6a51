"""Log lines: a JSON object a line, or text for a terminal; message, arguments, extra fields and tracebacks are redacted before they are formatted."""

import json
import logging
import re
import sys
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TextIO

from app.telemetry.context import request_id, trace_id
from app.telemetry.redaction import Redactor

MESSAGE_CHARS_MAX = 16_384
TRACEBACK_CHARS_MAX = 65_536
_CUT = " … (cut)"

# What every record has; the rest came by `extra=` and belongs to the line.
_BOUND = {"request_id": request_id, "trace_id": trace_id}
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"} | _BOUND.keys()


class RedactionFilter(logging.Filter):
    """Rewrites a record so that no handler, ours or another, can print a secret from it (X-86).

    The arguments are folded into the message first: a secret may be split between the two, or sit in an argument's repr.
    """

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redact = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except Exception:  # a broken log call must not break the caller, and its arguments may hold anything
            message = f"{type(record.msg).__name__} with arguments that do not fit it"
        record.msg, record.args = self._clean(message, MESSAGE_CHARS_MAX), ()
        if record.exc_info and record.exc_info[1] is not None and not record.exc_text:
            record.exc_text = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n")
        if record.exc_text:
            record.exc_text = self._clean(record.exc_text, TRACEBACK_CHARS_MAX)
        if record.stack_info:
            record.stack_info = self._clean(record.stack_info, TRACEBACK_CHARS_MAX)
        for name in vars(record).keys() - _OWN:
            setattr(record, name, self._value(getattr(record, name)))
        for name, read in _BOUND.items():
            setattr(record, name, read())
        return True

    def _value(self, value: Any) -> Any:
        return value if value is None or isinstance(value, bool | int | float) else self._clean(str(value), MESSAGE_CHARS_MAX)

    def _clean(self, text: str, chars_max: int) -> str:
        # Redacted before it is cut: a secret that the cut goes through would no longer be recognised.
        text = self._redact(text)
        return text if len(text) <= chars_max else text[:chars_max] + _CUT


class JsonFormatter(logging.Formatter):
    """One JSON object a line, ASCII only: a log line cannot break the log, whatever text is in it."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= _bound(record)
        line.update((name, value) for name, value in vars(record).items() if name not in _OWN and name not in line)
        if record.exc_text:
            line["exception"] = record.exc_text
        if record.stack_info:
            line["stack"] = record.stack_info
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """For people: time, level, logger, message, then the extra fields. Control characters are escaped, so that no text can forge a line."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).astimezone().strftime("%H:%M:%S")
        extra = {name: value for name, value in vars(record).items() if name not in _OWN}
        extra |= _bound(record)
        words = [at, f"{record.levelname.lower():7}", record.name, _escape(record.getMessage())]
        words += [f"{name}={_escape(str(value))}" for name, value in extra.items()]
        tail = [text for text in (record.exc_text, record.stack_info) if text]
        return "\n".join([" ".join(words), *(text.encode("utf-8", "backslashreplace").decode() for text in tail)])


def _bound(record: logging.LogRecord) -> dict[str, str]:
    """What the record says of the request at hand."""
    return {name: value for name in _BOUND if (value := getattr(record, name, None)) is not None}


def _escape(text: str) -> str:
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


class ForeignContentFilter(logging.Filter):
    """Drops the lines of the MCP SDK, by the file that writes them: some go to the root logger, and they quote arguments and answers."""

    _FILES = re.compile(r"[\\/]mcp[\\/](?:client|shared)[\\/]")

    def filter(self, record: logging.LogRecord) -> bool:
        return self._FILES.search(record.pathname) is None


def configure_logs(level: str = "info", form: str = "auto", secrets: Iterable[str] = (), stream: TextIO | None = None) -> logging.Handler:
    """Sets the root logger up for the process and returns its one handler. Calling it again replaces that handler.

    `form` is `auto`, `text` or `json`; `secrets` are values that must not appear in any line. Loggers of the web server pass their lines on to it.
    """
    stream = stream if stream is not None else sys.stderr
    handler = logging.StreamHandler(stream)
    text = form == "text" or (form == "auto" and stream.isatty())
    handler.setFormatter(TextFormatter() if text else JsonFormatter())
    handler.addFilter(ForeignContentFilter())
    handler.addFilter(RedactionFilter(Redactor(secrets)))
    handler.set_name("context-ledger")
    root = logging.getLogger()
    for old in [each for each in root.handlers if each.get_name() == handler.get_name()]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio", "sqlalchemy", "alembic", "httpx"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    # Every statement, request line and poll would be a line of its own there.
    for name in ("sqlalchemy.engine", "httpx", "httpcore", "alembic.runtime", "uvicorn.access"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    return handler
