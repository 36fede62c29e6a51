"""Renderers of floor 2: each places something of the draft, in the order of the agent's list; a file each, a row each.

Nothing reaches a model except through them (S4-08). A renderer may read the draft and its spec, and changes the draft through
its verbs alone; like all of `context` it is pure.
"""

from collections.abc import Mapping
from types import MappingProxyType

from app.context.renderers import history, system
from app.context.renderers.kinds import RendererKind

RENDERERS: Mapping[str, RendererKind] = MappingProxyType({"system": system.KIND, "history": history.KIND})
