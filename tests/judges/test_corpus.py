"""Whatever an importer reads, ended with a user message, compiles for every dialect to a body that nobody objects to."""

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest

from app.context.compile import compile_context
from app.formats.registry import FORMATS, IMPORTERS
from tests.judges.imported import LAST_WORDS, Transcript, recorded_requests, transcripts
from tests.judges.judging import objections
from tests.judges.targets import MODELS, target_of
from tests.strategies import tokens

pytestmark = [pytest.mark.timeout(600), pytest.mark.req("S0-28", "S0-29", "X-21", "X-24")]

OWN = Path(__file__).parents[1] / "transcripts"
READ_IN_THE_CORPUS = {
    "jsonl": 0,
    "openai-chat": 60,
    "openai-responses": 3,
    "anthropic-messages": 60,
    "gemini": 60,
    "ai-sdk": 60,
    "claude-code": 20,
    "codex": 2,
    "pi": 2,
}
"""How many sessions there have to be at least of each format, in files of its own and in those of others that it can read."""


def judged(given: Iterable[Transcript]) -> int:
    """How many there were; each is judged for every model of every dialect, with tools declared and without."""
    count = 0
    for one in given:
        count += 1
        for dialect, models in MODELS.items():
            for model, tools in product(models, (True, False)):
                target = target_of(dialect, model)
                compiled = compile_context(one.sources(target, one.revision(tools=tools)), tokens)
                body = FORMATS[dialect].write_request(compiled.request, one.blobs).body
                assert objections(dialect, body, target) == [], (one.name, dialect, model, tools)
                assert LAST_WORDS.encode() in body, (one.name, dialect, model)
    return count


@pytest.mark.parametrize("format", [name for name in IMPORTERS if name != "jsonl"])
def test_our_own_transcripts(format: str):
    assert judged(transcripts(format, OWN)) >= 1


@pytest.mark.parametrize("format", IMPORTERS)
def test_every_transcript_of_the_corpus(format: str, shared: Path):
    read = judged(transcripts(format, shared / "corpus" / "transcripts"))
    assert read >= READ_IN_THE_CORPUS[format]


@pytest.mark.parametrize("format", [name for name in IMPORTERS if name in FORMATS])
def test_every_recorded_request(format: str, shared: Path):
    assert judged(recorded_requests(format, shared)) >= 15
