"""Runs one limit server in a process of its own: `python -m bench.limits provider | httpx | httpx-aiohttp | tee [UPSTREAM]`."""

import sys
from collections.abc import Coroutine

import uvloop

from bench.limits.provider import serve
from bench.limits.proxies import serve_pass_through, serve_tee


def chosen(name: str, upstream: str) -> Coroutine[object, object, None]:
    """The server of that name. Raises `KeyError` for another."""
    servers = {
        "provider": lambda: serve(),
        "httpx": lambda: serve_pass_through(upstream, over_aiohttp=False),
        "httpx-aiohttp": lambda: serve_pass_through(upstream, over_aiohttp=True),
        "tee": lambda: serve_tee(upstream),
    }
    return servers[name]()


if __name__ == "__main__":
    uvloop.run(chosen(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
