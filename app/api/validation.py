"""Requests against their JSON Schemas: a compiled check first, and every fault with its pointer where that fails."""

from collections.abc import Callable, Mapping
from typing import Any

import fastjsonschema

from app.entries.errors import Fault, Invalid
from app.services.bounded_schemas import SchemaChecker
from app.services.schema_faults import schema_faults


class Checker:
    """One schema, compiled at start. A valid document costs the fast check alone."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._fast: Callable[[Any], Any] = fastjsonschema.compile(dict(schema), use_default=False, use_formats=False)
        self._full = SchemaChecker(dict(schema))

    def check(self, document: Any) -> None:
        """Raises `Invalid` with every fault; nothing of the document stands in it but the names of unknown fields."""
        try:
            self._fast(document)
        except fastjsonschema.JsonSchemaException:
            faults = schema_faults(self._full, document)
            raise Invalid(faults or [Fault("", "invalid", "The body does not fit its schema.")]) from None
