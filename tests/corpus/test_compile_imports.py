"""Imported files as every dialect would send them: no body that its own rules refuse, and no block of a file in any of them."""

from pathlib import Path

import orjson
import pytest

from app.context.compile import compile_context
from app.entries.messages import Answer, Message
from app.entries.parts import Opaque, Text
from app.formats.protocols import ImportedMessage
from app.formats.registry import FORMATS
from tests.corpus.said import File, corpus_files
from tests.corpus.test_importers import FOLDERS, OWN, imported
from tests.strategies import Ledger, target, tokens


@pytest.fixture(scope="module", params=["own", "corpus"])
def files(request: pytest.FixtureRequest) -> list[File]:
    if request.param == "corpus":
        return corpus_files(request.getfixturevalue("shared"))
    return [File(path.name, format, path.read_bytes()) for folder, format in FOLDERS.items() for path in sorted(Path(OWN / folder).iterdir())]


@pytest.mark.req("S0-29", "S0-30", "X-23")
@pytest.mark.parametrize("dialect", FORMATS)
def test_what_was_imported_compiles_to_a_body_that_is_taken(files: list[File], dialect: str):
    form, sent_to = FORMATS[dialect], target(dialect)
    for file in files:
        session, ledger = imported(file), Ledger()
        for entry in session.entries:
            assert not isinstance(entry.body, str)
            ledger.add(entry.kind, entry.body, include_in_context=entry.include_in_context, hidden=entry.hidden, attributes=entry.attributes)
        ledger.user("And what is left to do?")
        found = compile_context(ledger.sources(target=sent_to), tokens)
        for message in found.request.messages:
            assert not any(isinstance(part, Opaque) or getattr(part, "opaque", None) is not None for part in message.parts), file.name
        blobs = {digest: content for digest, (_, content) in session.blobs.items()}
        body = orjson.loads(form.write_request(found.request, blobs).body)
        assert form.validate(body, sent_to.rules) == [], file.name
        assert len(ledger.messages) == len(session.entries) + 1, "what is not sent stays in the ledger"
        spoken = [part.text for entry in session.entries if entry.include_in_context for part in words(entry)]
        texts = set(strings(body))
        assert [text for text in spoken if text.strip() and not any(text in each for each in texts)] == [], file.name


def words(entry: ImportedMessage) -> list[Text]:
    """What users said, and models in answers that are whole; system text is made anew for each call."""
    body = entry.body
    whole = isinstance(body, Answer) and body.status == "completed"
    said = isinstance(body, Message | Answer) and (whole or entry.kind == "user_message")
    return [part for part in body.parts if isinstance(part, Text)] if said and isinstance(body, Message | Answer) else []


def strings(value: object) -> list[str]:
    found = []
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += [item] if isinstance(item, str) else strings(item)
    return found
