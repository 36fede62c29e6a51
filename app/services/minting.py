"""New ids: UUIDv7, so that ids of one process rise with time and index pages stay warm; and chance."""

import os
import time
from uuid import UUID


def new_uuid() -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of milliseconds, 74 random bits."""
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    return UUID(int=number & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62)


def new_nonce() -> str:
    """128 random bits in hex."""
    return os.urandom(16).hex()
