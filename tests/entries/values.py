"""Hypothesis strategies for what a session may hold: any code point, any spelling of a number, any order of keys."""

import json
from typing import Any

from hypothesis import strategies as st

from app.entries.deltas import Usage
from app.entries.parts import Blob, Media, Opaque, Part, Reasoning, Text, ToolCall

AWKWARD = ("\x00", "\ud800", "\udfff\ud800", "\u2028\u2029", "\r\n", "<|endoftext|>", '"\\', "é", "👩\u200d👧", "\ufeff")

texts = st.text(st.characters(exclude_categories=()) | st.sampled_from("".join(AWKWARD)), max_size=30)
numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)


def _spelled(value: Any) -> str:
    """JSON text of a tree whose leaves are already JSON text."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_spelled(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_spelled, value)) + "]"
    return str(value)


leaves = numbers | st.sampled_from(["true", "false", "null"]) | texts.map(json.dumps)
json_texts = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts.map(json.dumps), inner, max_size=4), max_leaves=12
).map(_spelled)

digests = st.from_regex("sha256:[0-9a-f]{64}", fullmatch=True)
blobs = st.builds(Blob, digests, st.sampled_from(["text/plain", "image/png"]), st.integers(0, 2**40)) | st.builds(
    Blob, digests, st.just("image/png"), st.integers(0, 99), st.integers(1, 9999), st.integers(1, 9999)
)
optional = st.none() | texts
parts: st.SearchStrategy[Part] = st.one_of(
    texts.map(Text),
    st.builds(lambda blob: Text("", blob), blobs),
    st.builds(Reasoning, texts, optional, optional),
    st.builds(lambda blob, opaque: Reasoning("", opaque, None, blob), blobs, optional),
    st.builds(ToolCall, texts, texts, texts, optional, optional),
    st.builds(lambda call, name, blob: ToolCall(call, name, "", None, None, blob), texts, texts, blobs),
    st.builds(Media, st.sampled_from(["image", "file"]), blobs, st.none(), optional),
    st.builds(Media, st.sampled_from(["image", "file"]), st.none(), texts, optional),
    st.builds(Opaque, texts, texts, texts, texts),
)
counts = st.none() | st.integers(0, 2**53)
usages = st.builds(Usage, counts, counts, counts, counts, counts)
