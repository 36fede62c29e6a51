"""Templates for the rest of the house: check one, render one, ask a condition.

A key that the schema names and the state does not have is none: it puts out nothing, is not true, and `is none`. Literal braces are
written as `{{ '{{' }}` or between `{% raw %}` and `{% endraw %}`; what stands between braces in data is data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jinja2 import Template

from app.context.sources import Sources
from app.context.templates.grammar import Names, RefusedError, Root, read_condition, read_template
from app.context.templates.keys import PLAIN, StateRoot, fixed
from app.context.templates.sandbox import METER, SANDBOX, Meter, TooMuchError
from app.entries import lossless

PROGRAMS_REMEMBERED_MAX = 512
"""Compiled templates kept in one process."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a template's names stand for. `state_schema` is the JSON text of the schemas by scope; `message`: it is about one message."""

    state_schema: str
    output_schema: bool = False
    message: bool = False

    def names(self) -> Names:
        found: dict[str, Root] = {"state": StateRoot(lossless.loads(self.state_schema, 80)), "session": _SESSION, "agent": _AGENT}
        return found | ({"output_schema": PLAIN} if self.output_schema else {}) | ({"message": _MESSAGE} if self.message else {})


_SESSION, _AGENT, _MESSAGE = fixed("id", "agent", "revision"), fixed("name", "revision"), fixed("text", "agent")


class RenderFailedError(Exception):
    """A template could not be rendered: a kebab-case code, and a sentence without content."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def vocabulary(state_schema: Mapping[str, Any] | None, has_output_schema: bool = False, message: bool = False) -> Vocabulary:
    """What templates of a document with these schemas may name."""
    return Vocabulary(lossless.dumps(dict(state_schema or {})), has_output_schema, message)


def refused(text: str, words: Vocabulary, condition: bool = False) -> RefusedError | None:
    """Why a template (or a condition) is not taken; None for one that is."""
    try:
        _program(text, words, condition)
    except RefusedError as error:
        return error
    return None


def rendered(text: str, words: Vocabulary, values: Mapping[str, Any], condition: bool = False) -> str:
    """The text that a template gives with these values. Raises `RenderFailedError`, for one that was never checked too."""
    try:
        program, meter = _program(text, words, condition), Meter()
        pieces: list[str] = []
        for piece in program.root_render_func(program.new_context({**values, METER: meter})):
            meter.say(len(piece))
            pieces.append(piece)
    except RefusedError as error:
        raise RenderFailedError(error.code, error.detail) from None
    except TooMuchError:
        raise RenderFailedError("template-too-much", "It gives more text, or asks for more work, than one template may.") from None
    except Exception as error:  # whatever a value does to a template ends here, as a typed failure
        raise RenderFailedError("template-failed", f"The values that hold now do not fit it ({type(error).__name__}).") from None
    return "".join(pieces)


def holds(text: str, words: Vocabulary, values: Mapping[str, Any]) -> bool:
    """Whether a condition holds. Raises `RenderFailedError`."""
    return rendered(text, words, values, condition=True) != ""


def values_of(sources: Sources, state: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The values of the names: the state (or an older one), the safe fields of the session and the agent, the output schema as text."""
    scopes, agent = sources.state if state is None else state, sources.agent
    session, known = scopes.get("session"), agent.state_schema or {}
    # By the names of the schemas that the template was checked with: a scope goes before a session key, also where the state lacks it.
    plain = {key: value for key, value in session.items() if key not in known} if isinstance(session, Mapping) else {}
    found: dict[str, Any] = {
        "state": plain | {scope: value for scope, value in scopes.items() if scope in known},
        "session": {"id": sources.session_id, "agent": agent.name, "revision": agent.revision},
        "agent": {"name": agent.name, "revision": agent.revision},
    }
    if agent.output_schema is not None:
        found["output_schema"] = lossless.dumps(dict(agent.output_schema))
    return found


@lru_cache(maxsize=PROGRAMS_REMEMBERED_MAX)
def _program(text: str, words: Vocabulary, condition: bool) -> Template:
    tree = (read_condition if condition else read_template)(text, words.names())
    code = SANDBOX.compile(tree, None, "<template>")
    return Template.from_code(SANDBOX, code, {}, None)
