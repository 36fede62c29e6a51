"""Media that a message names by digest instead of bringing its bytes: uploaded ahead, and looked up once, where it is accepted."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from app.entries.errors import Fault, Invalid
from app.entries.ids import blob_digest
from app.entries.parts import Blob, Media, Part
from app.entries.pictures import blob_of
from app.services.session_ids import session_uuid
from app.storage.blobs import Blobs
from app.storage.types import NewBlob


class Uploads:
    """Blobs that a client uploads ahead of the messages that name them."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def store(self, tenant: UUID, session_id: str, media_type: str, content: bytes) -> tuple[dict[str, Any], bool]:
        """The blob's `{digest, media_type, byte_length}` and whether it is new. The same bytes keep the media type of the first time.

        Raises `NotFound` for an unknown session.
        """
        session = session_uuid(session_id)
        blob = NewBlob(blob_digest(content), media_type, content)
        new = await self._blobs.put(tenant, session, blob)
        if not new:
            media_type = (await self._blobs.load(tenant, session, [blob.digest]))[blob.digest][0]
        return {"digest": blob.digest, "media_type": media_type, "byte_length": len(content)}, new


def named_media(parts: Sequence[Part], brought: Collection[str], pointer: str) -> dict[str, str]:
    """Digest → pointer of each blob that the parts only name; `brought` are the digests whose bytes came along."""
    return {
        part.blob.digest: f"{pointer}/{index}/blob"
        for index, part in enumerate(parts)
        if isinstance(part, Media) and part.blob is not None and part.blob.digest not in brought
    }


async def known_media(blobs: Blobs, tenant: UUID, session: UUID, named: Mapping[str, str]) -> dict[str, Blob]:
    """Type and sizes of each named blob (digest → pointer). Raises `Invalid` for those that the session does not hold."""
    held = await blobs.load(tenant, session, named) if named else {}
    faults = [Fault(pointer, "unknown-blob", "The session holds no such blob.") for digest, pointer in named.items() if digest not in held]
    if faults:
        raise Invalid(faults)
    return {digest: blob_of(digest, media_type, content) for digest, (media_type, content) in held.items()}


def with_media(parts: Sequence[Part], known: Mapping[str, Blob]) -> tuple[Part, ...]:
    """The parts with what is known of the blobs that they name."""
    return tuple(
        replace(part, blob=known.get(part.blob.digest, part.blob)) if isinstance(part, Media) and part.blob is not None else part for part in parts
    )
