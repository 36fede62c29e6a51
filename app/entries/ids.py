"""TypeIDs (a prefix, `_` and a UUID in 26 base32 characters) and names of blobs. Minting is the shell's work; here they are read and written."""

import hashlib
import re
from uuid import UUID

SESSION, TURN, CALL, CHECKPOINT = "ses", "trn", "mcl", "chk"

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUES = {letter: value for value, letter in enumerate(_ALPHABET)}
_BLOB = re.compile("sha256:[0-9a-f]{64}")


def format_id(prefix: str, uuid: UUID) -> str:
    """The TypeID of a UUID, as https://github.com/jetify-com/typeid specifies it (128 bits, five a letter, first letter ≤ 7)."""
    number = uuid.int
    return prefix + "_" + "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def parse_id(prefix: str, text: str) -> UUID | None:
    """The UUID of a TypeID with that prefix; None for anything else, so that callers answer 404."""
    head, _, tail = text.rpartition("_")
    if head != prefix or len(tail) != 26 or tail[0] > "7":
        return None
    number = 0
    for letter in tail:
        value = _VALUES.get(letter)
        if value is None:
            return None
        number = number << 5 | value
    return UUID(int=number)


def blob_digest(content: bytes) -> str:
    """The name of a blob: `sha256:<hex>` of its bytes."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def text_digest(text: str) -> str:
    """`sha256:<hex>` of a text, lone surrogates too."""
    return blob_digest(text.encode("utf-8", "surrogatepass"))


def commitment(nonce: str, digest: str) -> str:
    """`committed:<hex>`: says which digest is meant to who has it and the nonce. Once both are erased it tells nothing of a text, however short."""
    return "committed:" + hashlib.sha256(f"{nonce}{digest}".encode()).hexdigest()


def is_commitment(text: str) -> bool:
    """Whether `commitment` made it; entries of earlier releases hold the digest itself."""
    return text.startswith("committed:")


def is_blob_digest(text: str) -> bool:
    """Whether the text names a blob: `sha256:` and 64 lower-case hex digits."""
    return _BLOB.fullmatch(text) is not None
