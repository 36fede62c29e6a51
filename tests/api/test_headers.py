"""Negotiation and conditions, without a server."""

from typing import Any

import pytest
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request

from app.api.access import is_loopback_name
from app.api.bodies import check_media_type
from app.api.edge import trace_id
from app.api.headers import NO_HEAD, expected_head, expected_meta, idempotency_key, last_event_id, negotiate, not_modified
from app.api.problems import Problem
from app.api.queries import read_query
from app.api.schemas.basics import LIMIT, column, one_of
from app.entries.errors import Invalid


def request(**headers: str) -> Request:
    listed: list[tuple[bytes, bytes]] = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/", "headers": listed, "query_string": b""}
    return Request(scope)


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, "a/json"),
        ("*/*", "a/json"),
        ("a/*", "a/json"),
        ("t/sse", "t/sse"),
        ("T/SSE;charset=utf-8", "t/sse"),
        ("t/sse, a/json", "t/sse"),
        ("a/json, t/sse", "a/json"),
        ("a/json;q=0.1, t/sse;q=0.2", "t/sse"),
        ("*/*;q=0.9, a/json;q=0.1", "t/sse"),
        ("t/sse;q=0, */*", "a/json"),
    ],
)
def test_the_best_form_is_chosen(accept: str | None, chosen: str) -> None:
    assert negotiate(accept, ("a/json", "t/sse")) == chosen


@pytest.mark.parametrize("accept", ["image/png", "a/json;q=0", "t/sse;q=x", ","])
def test_no_form_is_406(accept: str) -> None:
    with pytest.raises(Problem) as caught:
        negotiate(accept, ("a/json", "t/sse"))
    assert caught.value.code == "not-acceptable"


@pytest.mark.req("X-03")
def test_what_a_writer_expects() -> None:
    assert expected_head(request()) is None
    assert expected_head(request(), 4) == 4
    assert expected_head(request(if_match="*"), 4) == 4
    assert [expected_head(request(if_match=given)) for given in ("7", '"7"', '"7.2"')] == [7, 7, 7]
    assert expected_head(request(if_match="7"), 7) == 7
    assert [expected_head(request(if_match=given), 8) for given in ("7", "x", 'W/"8"', '"8', '8"')] == [NO_HEAD] * 5
    assert (expected_meta(request(if_match='"7.2"')), expected_meta(request(if_match='"7"'))) == (2, None)


def test_what_a_reader_has() -> None:
    assert not_modified(request(if_none_match='"1", W/"2"'), '"2"')
    assert not_modified(request(if_none_match="*"), '"2"')
    assert not not_modified(request(if_none_match='"1"'), '"2"')
    assert not not_modified(request(), '"2"')


def test_names_of_this_machine() -> None:
    assert all(map(is_loopback_name, ("localhost", "localhost:80", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:80", "app.localhost")))
    assert not any(map(is_loopback_name, ("", "localhost.com", "0.0.0.0", "[::2]", "127.0.0.1.nip.io", "a@evil", "[", "1.2.3.4")))


def test_a_trace_is_honoured_where_it_is_well_formed() -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert trace_id(Headers({"traceparent": trace})) == "0af7651916cd43dd8448eb211c80319c"
    for bad in ("", trace.upper(), "01" + trace[2:], f"00-{'0' * 32}-b7ad6b7169203331-01", trace + "-x"):
        assert trace_id(Headers({"traceparent": bad})) is None


def test_faults_of_parameters_never_repeat_values() -> None:
    schemas = {"limit": LIMIT, "metadata.": column(255), "form": {**one_of("a"), "x-later": ["b"]}}
    with pytest.raises(Invalid) as caught:
        read_query(QueryParams("limit=SECRET&SECRET%20x=1&zz=SECRET&metadata.k=SECRET&metadata.k=x&form=b"), schemas)
    codes = ["wrong-form", "unknown-parameter", "unknown-parameter", "duplicate", "not-yet-supported"]
    assert [fault.code for fault in caught.value.faults] == codes
    assert all("SECRET" not in fault.detail for fault in caught.value.faults)


@pytest.mark.parametrize(("header", "after", "cursor"), [(None, None, None), (None, 3, 3), ("5", None, 5), ("5", 3, 5), (" ", 3, 3)])
def test_a_stream_goes_on_where_the_client_says_last(header: str | None, after: int | None, cursor: int | None) -> None:
    """A browser that was cut off repeats its URL, `?after=` and all, and adds the id that it has come to."""
    asked = request() if header is None else request(last_event_id=header)
    assert last_event_id(asked, after) == cursor


def test_an_idempotency_key_knows_body_and_query() -> None:
    def digest(body: bytes, query: bytes) -> bytes:
        asked = request(idempotency_key="k")
        asked.scope["query_string"] = query
        key = idempotency_key(asked, body)
        assert key is not None
        return key.digest

    assert digest(b"x", b"dry_run=true") == digest(b"x", b"dry_run=true")
    assert len({digest(body, query) for body in (b"x", b"y") for query in (b"", b"dry_run=true")}) == 4


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("application/json", True),
        ("Application/JSON; charset=UTF-8", True),
        ('application/json; v=1; charset="utf-8"', True),
        ("application/json;charset=utf-8; v=1", True),
        ("application/json; v=1; charset=latin-1", False),
        ("text/json", False),
        ("", False),
    ],
)
def test_a_body_is_json_in_utf_8(given: str, taken: bool) -> None:
    if taken:
        check_media_type(request(content_type=given))
    else:
        with pytest.raises(Problem):
            check_media_type(request(content_type=given))
