"""Entries of other programs, within the size of an entry."""

import pytest

from app.config.limits import PAYLOAD_INLINE_BYTES_MAX
from app.entries.messages import Answer, Message, NewEntry, decode
from app.entries.parts import Opaque, Part, Reasoning, Text, ToolCall
from app.formats.protocols import Note
from app.services.transfers.sizes import BESIDE_BYTES_MAX, ENTRY_BYTES_MAX, fitted, lightened
from app.services.write import Draft, Writer, loaded
from app.storage.store import Store

PRODUCER = "openai-responses/import/m"
LARGE = '{"encrypted_content":"' + "x" * BESIDE_BYTES_MAX + '"}'


def test_a_body_that_fits_stays_as_it_is():
    changed: list[Note] = []
    body = Answer((Reasoning("t", LARGE[: BESIDE_BYTES_MAX // 2], PRODUCER), Text("a"), ToolCall("c", "f", "{}" * BESIDE_BYTES_MAX)))
    assert lightened(body, 0, changed) is body
    assert not changed


def test_the_largest_blocks_stand_apart_until_the_rest_fits():
    small = '{"id":"msg_1"}'
    changed: list[Note] = []
    parts: tuple[Part, ...] = (
        Reasoning("t", LARGE, PRODUCER),
        Text("a", None, small, PRODUCER),
        ToolCall("c", "f", "{}", opaque=LARGE, producer=None),
        Text("b", None, LARGE, PRODUCER),
    )
    body = lightened(Answer(parts, model="m"), 7, changed)
    assert body == Answer(
        (
            Opaque("openai-responses", PRODUCER, LARGE, "beside a part"),
            Reasoning("t"),
            Text("a", None, small, PRODUCER),
            Opaque("unknown", "unknown", LARGE, "beside a part"),
            ToolCall("c", "f", "{}"),
            Opaque("openai-responses", PRODUCER, LARGE, "beside a part"),
            Text("b"),
        ),
        model="m",
    )
    assert [(note.source, note.what) for note in changed] == [("message 7", "opaque")]


def test_an_entry_that_does_not_fit_is_lost_and_said():
    lost: list[Note] = []
    entries = [NewEntry("user_message", payload) for payload in ("a" * ENTRY_BYTES_MAX, "b" * (ENTRY_BYTES_MAX + 1), "é" * ENTRY_BYTES_MAX, "c")]
    assert fitted(entries, lost) == (entries[0], entries[3])
    assert [(note.source, note.what) for note in lost] == [("message 1", "user_message"), ("message 2", "user_message")]


@pytest.mark.req("X-23")
async def test_a_text_in_a_blob_keeps_what_stands_beside_it(store: Store):
    long = Text("long " * 20_000, None, '{"phase":"final_answer"}', PRODUCER)
    writer = Writer(store.ledger, len)
    (entry,), (blob,) = await writer.prepare([Draft("assistant_message", Answer((long,)))])
    (stored,) = decode(entry.kind, entry.payload).parts
    assert isinstance(stored, Text)
    assert (stored.text, stored.opaque, stored.producer) == ("", long.opaque, PRODUCER)
    assert loaded(stored, {blob.digest: (blob.media_type, blob.body)}) == long


async def test_the_largest_texts_are_moved_until_an_entry_is_small_enough_and_short_ones_never(store: Store):
    writer = Writer(store.ledger, len)
    texts = [Text("x" * 30_000), Text("y" * 20_000), Text("z" * 25_000), *[Text("short") for _ in range(100)]]
    (entry,), blobs = await writer.prepare([Draft("user_message", Message(tuple(texts)))])
    assert [blob.body[:1] for blob in blobs] == [b"x"]
    assert len(entry.payload) <= PAYLOAD_INLINE_BYTES_MAX
    (many,), none = await writer.prepare([Draft("user_message", Message(tuple([Text("short")] * 9_000)))])
    assert not none
    assert len(decode(many.kind, many.payload).parts) == 9_000
