"""Renderers that other packages bring, by entry points of the group `context_ledger.renderers`: the name is the renderer's, the object a
`RendererKind`. They are read once, when the registry is imported; a package that does not load, or takes a name that is taken, stops the
start, since agents rely on it.
"""

from collections.abc import Mapping
from importlib.metadata import entry_points
from types import MappingProxyType

from app.context.renderers.kinds import RendererKind

GROUP = "context_ledger.renderers"


def installed(taken: Mapping[str, RendererKind]) -> tuple[Mapping[str, RendererKind], Mapping[str, str]]:
    """The kinds by name, and for each `name@version of its package`. Raises `ValueError`, and as loading a package does."""
    kinds: dict[str, RendererKind] = {}
    versions: dict[str, str] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        if entry.name in taken or entry.name in kinds:
            raise ValueError(f"the renderer {entry.name} is there twice: uninstall one of the packages that bring it")
        kind = entry.load()
        if not isinstance(kind, RendererKind):
            raise ValueError(f"the entry point {entry.name} of {GROUP} has to name a RendererKind")
        kinds[entry.name] = kind
        versions[entry.name] = f"{entry.name}@{entry.dist.version if entry.dist else 'unknown'}"
    return MappingProxyType(kinds), MappingProxyType(versions)
