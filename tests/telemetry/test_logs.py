"""Log lines: one a record, nothing secret in any part of it, and the id of the request at hand."""

import asyncio
import io
import json
import logging

import pytest

from app.telemetry.context import bound_request, request_id, trace_id
from app.telemetry.logs import MESSAGE_CHARS_MAX, RedactionFilter, configure_logs
from app.telemetry.redaction import Redactor

SECRET = "hunter22hunter22"
IN_TEXT = f"key {SECRET}"
LONG_BETWEEN = f"%s{'x' * MESSAGE_CHARS_MAX}%s"
ACROSS_THE_CUT = f"{'x' * (MESSAGE_CHARS_MAX - 5)}{SECRET}"


@pytest.fixture
def restored():
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def lines(restored):
    """A call that gives the JSON lines written so far."""
    stream = io.StringIO()
    configure_logs("debug", "json", [SECRET], stream)
    return lambda: [found for line in stream.getvalue().splitlines() if (found := json.loads(line))["logger"] == "app.test"]


@pytest.mark.req("X-86")
@pytest.mark.parametrize(
    "write",
    [
        lambda log: log.info(IN_TEXT),
        lambda log: log.info("key %s", SECRET),
        lambda log: log.info("headers %r", {"x": [SECRET]}),
        lambda log: log.info("key %(key)s", {"key": SECRET}),
        lambda log: log.info("call", extra={"header": SECRET}),
        lambda log: log.info("call", extra={"header": {"nested": SECRET}}),
        lambda log: log.info("one arg too few %s %s", SECRET),
        lambda log: log.info(LONG_BETWEEN, "a", SECRET),
        lambda log: log.info(ACROSS_THE_CUT),
    ],
)
def test_no_part_of_a_record_shows_a_secret(lines, write):
    write(logging.getLogger("app.test"))
    assert len(lines()) == 1
    assert "hunte" not in json.dumps(lines())


@pytest.mark.req("X-86")
def test_tracebacks_and_their_causes_are_redacted(lines):
    def fail():
        try:
            raise ValueError(f"first {SECRET}")
        except ValueError as error:
            raise RuntimeError("postgresql://u:other-secret@h/d is not there") from error

    try:
        fail()
    except RuntimeError:
        logging.getLogger("app.test").exception("failed")
    (line,) = lines()
    assert "RuntimeError" in line["exception"]
    assert "ValueError" in line["exception"]
    assert SECRET not in line["exception"]
    assert "other-secret" not in line["exception"]


@pytest.mark.req("X-86")
def test_handlers_that_come_after_ours_see_the_redacted_record(lines):
    class Other(logging.Handler):
        def emit(self, record):
            seen.append(self.format(record))

    seen: list[str] = []
    other = Other()
    logging.getLogger().addHandler(other)
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger("app.test").exception("failed with %s", SECRET, stack_info=True)
    finally:
        logging.getLogger().removeHandler(other)
    assert "ValueError" in seen[0]
    assert SECRET not in seen[0]


def test_a_broken_log_call_breaks_nobody(lines):
    class Hostile:
        def __str__(self):
            raise RuntimeError

    logging.getLogger("app.test").info("it is %s", Hostile())
    logging.getLogger("app.test").info("call", extra={"odd": Hostile})
    assert len(lines()) == 2


def test_lone_surrogates_and_line_breaks_stay_inside_one_line(restored):
    # Given to the handler itself: a test runner that collects what loggers say may not be able to pass a surrogate on.
    stream = io.StringIO()
    handler = configure_logs("info", "json", (), stream)
    handler.handle(logging.makeLogRecord({"name": "app.test", "levelno": logging.INFO, "levelname": "INFO", "msg": "a\ud800b\nc\u2028d"}))
    assert stream.getvalue().count("\n") == 1
    assert json.loads(stream.getvalue())["message"] == "a\ud800b\nc\u2028d"


def test_a_text_line_cannot_be_forged(restored):
    stream = io.StringIO()
    configure_logs("info", "text", (), stream)
    logging.getLogger("app.test").info("a\n12:00:00 info forged \x1b[31m", extra={"turn": "t\r\n1"})
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


def test_level_and_fields(lines):
    logging.getLogger("app.test").warning("turn settled", extra={"turn": 3, "status": "completed", "seconds": 1.5})
    (line,) = lines()
    assert (line["level"], line["logger"], line["message"]) == ("warning", "app.test", "turn settled")
    assert (line["turn"], line["status"], line["seconds"]) == (3, "completed", 1.5)
    assert line["at"].endswith("Z")
    assert "request_id" not in line


async def test_request_and_trace_are_those_of_the_task(lines):
    async def serve(name):
        with bound_request(name, f"trace-{name}"):
            await asyncio.sleep(0)
            logging.getLogger("app.test").info(name)

    await asyncio.gather(serve("r1"), serve("r2"))
    assert [(line["message"], line["request_id"], line["trace_id"]) for line in lines()] == [("r1", "r1", "trace-r1"), ("r2", "r2", "trace-r2")]
    assert (request_id(), trace_id()) == (None, None)


def test_configuring_again_replaces_the_handler(restored):
    first = configure_logs("info", "json", (), io.StringIO())
    second = configure_logs("info", "json", (), io.StringIO())
    handlers = logging.getLogger().handlers
    assert second in handlers
    assert first not in handlers


def test_the_filter_keeps_every_record():
    record = logging.makeLogRecord({"msg": "x", "levelno": logging.DEBUG})
    assert RedactionFilter(Redactor()).filter(record) is True
