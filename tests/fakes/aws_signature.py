"""Signature version 4, worked out again from the request as it came, by AWS's published recipe."""

import hashlib
import hmac
import re
from urllib.parse import quote

from tests.fakes.serving import Request

_HEADER = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<scope>(?P<date>\d{8})/(?P<region>[a-z0-9-]+)/(?P<service>[a-z-]+)/aws4_request), ?"
    r"SignedHeaders=(?P<signed>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
_NEEDED = {"host", "x-amz-date"}


def signed_by(request: Request, access_key: str, secret_key: str) -> bool:
    """Whether the request carries a signature for service `bedrock` that was made with these keys over just these bytes."""
    found = _HEADER.fullmatch(request.headers.get("authorization", ""))
    if found is None or found["key"] != access_key or found["service"] != "bedrock":
        return False
    names = found["signed"].split(";")
    if not set(names) >= _NEEDED | ({"x-amz-security-token"} & request.headers.keys()) or names != sorted(names):
        return False
    headers = "".join(f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in names)
    path = quote(request.raw_path, safe="/-_.~")  # encoded a second time, as for every service but S3
    payload = hashlib.sha256(request.raw).hexdigest()
    canonical = "\n".join((request.method, path, request.query, headers, found["signed"], payload))
    told = "\n".join(("AWS4-HMAC-SHA256", request.headers["x-amz-date"], found["scope"], hashlib.sha256(canonical.encode()).hexdigest()))
    key = b"AWS4" + secret_key.encode()
    for part in (found["date"], found["region"], found["service"], "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.compare_digest(hmac.digest(key, told.encode(), "sha256").hex(), found["signature"])
