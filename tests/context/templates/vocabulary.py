"""An agent's state as tests of templates name it, some of it secret, and what is wrong with a template in its document."""

from typing import Any

from app.context.agents.check import check_document
from app.context.templates.render import vocabulary
from tests.strategies import MODEL

SCHEMA: dict[str, Any] = {
    "session": {
        "type": "object",
        "$defs": {"ward": {"type": "object", "properties": {"floor": {"type": "integer"}, "code": {"type": "string", "writeOnly": True}}}},
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "number"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"drug": {"type": "string"}, "price": {"writeOnly": True}}}},
            "plain": {"type": "array"},
            "ward": {"$ref": "#/$defs/ward"},
            "either": {"anyOf": [{"properties": {"left": {}}}, {"properties": {"right": {"writeOnly": True}}}]},
            "pin": {"type": "string", "writeOnly": True},
            "vault": {"type": "object", "writeOnly": True, "properties": {"inner": {"type": "string"}}},
            "notes": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
    "user": {"type": "object", "properties": {"language": {"type": "string"}, "key": {"writeOnly": True}}},
}
WORDS = vocabulary(SCHEMA, has_output_schema=True)
VALUES: dict[str, Any] = {
    "state": {
        "name": "Ada",
        "age": 41.5,
        "list": [{"drug": "a"}, {"drug": "b"}],
        "ward": {"floor": 3, "code": "SECRET"},
        "pin": "SECRET",
        "session": {"name": "Ada", "age": 41.5},
        "user": {"language": "fr"},
    },
    "session": {"id": "ses_1", "agent": "nurse", "revision": 2},
    "agent": {"name": "nurse", "revision": 2},
    "output_schema": '{"type":"object"}',
}


def document_faults(template: Any, **more: Any) -> list[tuple[str, str]]:
    """The faults of an agent document with this template."""
    found = check_document({"model": MODEL, "state_schema": SCHEMA, "context": [{"renderer": "system", "template": template}], **more})
    return [(fault.pointer, fault.code) for fault in found if fault.pointer.startswith("/context")]
