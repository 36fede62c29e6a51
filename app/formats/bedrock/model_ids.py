"""Model ids of Bedrock: plain ones, with a region in front, and ARNs; and the paths that they stand in (wire-format notes 6)."""

import re

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PROFILE = re.compile(r"(?:arn:[^/]*:(?:inference-profile|foundation-model)/)?(?:(?:us-gov|us|eu|apac|ap|jp|au|ca|global)\.)?(.+)", re.DOTALL)


def path(model: str) -> str:
    """Where a request goes, below the base URL."""
    return f"/model/{percent_encoded(model)}/converse-stream"


def counting_path(model: str) -> str:
    """Where a request's tokens are counted.

    Only the id of the foundation model is taken there, neither an inference profile nor an ARN (pydantic-ai issue 4001), so both are
    taken off; an application's own profile does not say what it stands for and goes as it is.
    """
    return f"/model/{percent_encoded(foundation_id(model))}/count-tokens"


def foundation_id(model: str) -> str:
    """The id without the ARN and the region in front of it."""
    found = _PROFILE.fullmatch(model)
    return model if found is None else found[1]


def percent_encoded(text: str) -> str:
    """As one segment of a path: everything but RFC 3986's unreserved characters, as `%XX` of its UTF-8 bytes; U+FFFD for a lone surrogate."""
    raw = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in raw)
