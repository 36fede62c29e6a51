"""Problems, health and the rest of a service's own routes."""

from app.api.schemas.basics import BOOL, COUNT, SEQ, answer, arr, integer, obj, one_of, text

PROBLEM = obj(
    {
        "type": text(),
        "title": text(),
        "status": integer(400, 599),
        "detail": text(),
        "instance": text(),
        "code": text(),
        "request_id": text(),
        "errors": arr(obj({"pointer": text(), "code": text(), "detail": text(), "parameter": text()}, ["pointer", "code", "detail"])),
        "turn_id": text(),
        "head_seq": SEQ,
    },
    ["type", "title", "status", "detail", "instance", "code", "request_id"],
)

LIVENESS = answer({"status": {"const": "ok"}, "auth": one_of("local", "keys")})
READINESS = answer(
    {"status": one_of("ready", "unready"), "auth": one_of("local", "keys"), "checks": {"type": "object", "additionalProperties": BOOL}}
)
PROBLEM_PAGE = answer({"type": text(), "code": text(), "status": COUNT, "title": text(), "meaning": text()})
