"""The OpenAPI document as one page of HTML: no script, nothing loaded from elsewhere."""

from collections.abc import Mapping
from html import escape
from typing import Any

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "h2{margin-top:2rem;border-bottom:1px solid #ddd}code{font-family:ui-monospace,monospace}"
    "details{margin:.3rem 0;padding:.3rem .6rem;border:1px solid #e4e4e4;border-radius:4px}"
    "summary b{display:inline-block;width:4rem}td{padding:.1rem .8rem .1rem 0;vertical-align:top}.s{color:#666}"
)


def page(document: Mapping[str, Any]) -> str:
    """The whole page; every text of the document is escaped."""
    info = document["info"]
    tags: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tags.setdefault(operation["tags"][0], []).append(_operation(method, path, operation))
    sections = "".join(f"<h2>{escape(tag)}</h2>{''.join(rows)}" for tag, rows in tags.items())
    head = f"<meta charset=utf-8><meta name=viewport content='width=device-width'><title>{escape(info['title'])}</title><style>{_STYLE}</style>"
    return (
        f"<!doctype html><html lang=en><head>{head}</head><body><h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f"<p>{escape(info['description'])}</p><p><a href='/openapi.json'>openapi.json</a></p>{sections}</body></html>"
    )


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(one['name'])}</code><td class=s>{escape(one['in'])}<td>{escape(one.get('description', ''))}"
        for one in operation.get("parameters", ())
    )
    answers = "".join(f"<tr><td>{escape(status)}<td colspan=2>{escape(one['description'])}" for status, one in operation["responses"].items())
    body = ""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        fields = content["schema"].get("properties", {})
        body = f"<p class=s>Body: {', '.join(f'<code>{escape(name)}</code>' for name in fields) or 'JSON'}</p>"
    return (
        f"<details><summary><b>{escape(method.upper())}</b> <code>{escape(path)}</code> <span class=s>{escape(operation['summary'])}</span></summary>"
        f"{body}<table>{rows}{answers}</table></details>"
    )
