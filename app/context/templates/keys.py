"""Which keys a template may name: what the JSON Schemas of its data say, secret keys told apart."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.context.schemas import resolved

Node = tuple[tuple[Any, Mapping[str, Any]], ...]
"""What is known of a value: schemas that may describe it, each with the document that its references are read in."""

BRANCHES_MAX = 256
"""Schemas that are followed for one value."""

_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_CONDITIONAL = ("if", "then", "else")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class TooManyBranchesError(Exception):
    """A value is described by more schemas than are followed, so that nothing can be said of it."""


@dataclass(frozen=True, slots=True)
class StateRoot:
    """The name `state`: session keys at the top level, and every scope by its name. A scope's name goes before a session key's."""

    scopes: Mapping[str, Any]

    def child(self, key: str) -> Node | None:
        if isinstance(schema := self.scopes.get(key), Mapping):
            return ((schema, schema),)
        session = self.scopes.get("session")
        return child(((session, session),), key) if isinstance(session, Mapping) else None

    def known(self) -> list[str]:
        session = self.scopes.get("session")
        return sorted({*(known(((session, session),)) if isinstance(session, Mapping) else ()), *self.scopes})


def fixed(*names: str) -> Node:
    """An object of exactly these keys, each a plain value."""
    schema: Mapping[str, Any] = {"properties": {name: {} for name in names}}
    return ((schema, schema),)


PLAIN: Node = ()
"""A value without keys of its own."""


def child(node: Node, key: str) -> Node | None:
    """What is known of the value under a key; None where no schema names the key."""
    found: list[tuple[Any, Mapping[str, Any]]] = []
    for schema, root in _expanded(node):
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            found.append((properties[key], root))
        elif isinstance(more := schema.get("additionalProperties"), Mapping):
            found.append((more, root))
    return tuple(found) or None


def element(node: Node) -> Node:
    """What is known of an element of a list."""
    found: list[tuple[Any, Mapping[str, Any]]] = []
    for schema, root in _expanded(node):
        items, first = schema.get("items"), schema.get("prefixItems")
        found += [(item, root) for item in (items if isinstance(items, list) else [items]) if isinstance(item, Mapping)]
        found += [(item, root) for item in (first if isinstance(first, list) else ()) if isinstance(item, Mapping)]
    return tuple(found)


def known(node: Node) -> list[str]:
    """The keys that the schemas name."""
    names: set[str] = set()
    for schema, _ in _expanded(node):
        properties = schema.get("properties")
        names.update(map(str, properties if isinstance(properties, Mapping) else ()))
    return sorted(names)


def secret(node: Node) -> bool:
    """Whether the value is secret (`writeOnly: true`) or holds one that is, in any of its branches."""
    return any(_holds_secret(schema, root) for schema, root in node)


def marked_secret(node: Node) -> bool:
    """Whether the value itself is marked as secret, so that everything in it is."""
    return any(schema.get("writeOnly") is True for schema, _ in _expanded(node))


def _expanded(node: Node) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The schemas and all that they refer to or combine. Raises `TooManyBranchesError`."""
    waiting, seen = list(node), set[int]()
    for schema, root in waiting:  # which grows while it is gone through
        if not isinstance(schema, Mapping) or id(schema) in seen:
            continue
        seen.add(id(schema))
        if len(seen) > BRANCHES_MAX:
            raise TooManyBranchesError
        yield schema, root
        if isinstance(reference := schema.get("$ref"), str):
            waiting.append((resolved(reference, root), root))
        for keyword in _ALTERNATIVES:
            if isinstance(branches := schema.get(keyword), list):
                waiting += [(branch, root) for branch in branches]
        waiting += [(schema[keyword], root) for keyword in _CONDITIONAL if keyword in schema]
        if isinstance(dependent := schema.get("dependentSchemas"), Mapping):
            waiting += [(branch, root) for branch in dependent.values()]


def _holds_secret(schema: Any, root: Mapping[str, Any]) -> bool:
    """A mark anywhere inside counts, also where it describes nothing: too careful is the safe side."""
    waiting, seen = [schema], set[int]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, Mapping) and id(value) not in seen:
            seen.add(id(value))
            if value.get("writeOnly") is True:
                return True
            references = [value[keyword] for keyword in _REFERENCES if isinstance(value.get(keyword), str)]
            waiting += [*value.values(), *[resolved(reference, root) for reference in references]]
    return False
