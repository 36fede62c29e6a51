"""What messages name and do not hold: long texts, put back before a compile, and the bytes of images and files, read for what is sent."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar
from uuid import UUID

from app.config.limits import MEDIA_ON_LOOP_BYTES_MAX
from app.context.neutral import NeutralMessage
from app.context.origins import InvalidOrigins
from app.context.sources import SourceMessage
from app.entries.ids import blob_digest
from app.entries.messages import text_blobs, with_parts
from app.entries.parts import Media
from app.formats.protocols import Violation
from app.services.write import loaded
from app.storage.blobs import Blobs

Done = TypeVar("Done")


class StoredContents:
    """Reads the blobs of a session's messages."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def texts(self, tenant: UUID, session: UUID, messages: list[SourceMessage]) -> list[SourceMessage]:
        """The messages with the texts that lie in blobs put back; media stay references until they are written.

        Raises `InvalidOrigins` where a text is not stored (any more): an erasure may come between the reading of an entry and of its blobs.
        """
        digests = [blob.digest for message in messages if message.entry.blobs for blob in text_blobs(message.body)]
        if not digests:
            return messages
        texts = await self._blobs.load(tenant, session, digests)
        if missing := [digest for digest in digests if digest not in texts]:
            raise InvalidOrigins(f"A message names the text {missing[0]}, which is not stored.")
        return [
            SourceMessage(message.entry, with_parts(message.body, tuple([loaded(part, texts) for part in message.body.parts])))
            if message.entry.blobs
            else message
            for message in messages
        ]

    async def media(
        self, tenant: UUID, session: UUID, messages: Iterable[NeutralMessage], brought: Mapping[str, bytes]
    ) -> tuple[Mapping[str, bytes], tuple[Violation, ...]]:
        """The stored bytes that the messages name, each held against its digest, and what is missing or not what it was.

        `brought`: digests whose bytes came with the request and are not stored.
        """
        digests = [
            part.blob.digest
            for message in messages
            for part in message.parts
            if isinstance(part, Media) and part.blob is not None and part.blob.digest not in brought
        ]
        if not digests:
            return {}, ()
        held = await self._blobs.load(tenant, session, digests)
        contents = {digest: content for digest, (_, content) in held.items()}
        whole = await done(partial(_whole, contents), aside=heavy(contents))
        broken = [digest for digest in dict.fromkeys(digests) if digest not in whole]
        return whole, tuple(
            Violation("", "blob-corrupt" if digest in held else "blob-missing", f"The bytes of {digest} are not there as they were stored.")
            for digest in broken
        )


async def done(work: Callable[[], Done], *, aside: bool) -> Done:
    """The work's result; `aside`: done beside the event loop, which it would hold up."""
    return await asyncio.to_thread(work) if aside else work()


def heavy(contents: Mapping[str, bytes]) -> bool:
    """Whether bytes are so many that work on them is done beside the event loop."""
    return sum(map(len, contents.values())) > MEDIA_ON_LOOP_BYTES_MAX


def _whole(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Those of the blobs whose bytes are what their digest says."""
    return {digest: content for digest, content in contents.items() if blob_digest(content) == digest}
