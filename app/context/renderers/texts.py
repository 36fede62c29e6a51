"""The text of a renderer: written out (`text`), or a template that is rendered over the state that holds at the call (`template`).

A text is never read as a template. `tag` puts it between `<tag>` and `</tag>` as data of somebody else's, its `&`, `<` and `>` escaped, so
that nothing in it closes the tag (X-26); without a tag it speaks with the agent's own authority.
"""

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from app.config.agent_limits import CONDITION_CHARS_MAX, TEMPLATE_CHARS_MAX
from app.context.draft import Draft
from app.context.fields import TEXT_CHARS_MAX, Check
from app.context.renderers.kinds import DocumentFacts
from app.context.sources import RendererSpec
from app.context.templates.render import Vocabulary, holds, refused, rendered, values_of, vocabulary

KEYS = ("text", "template", "tag")

_TAG = re.compile("[A-Za-z0-9_]{1,64}")


def text_of(draft: Draft, spec: RendererSpec) -> str | None:
    """The renderer's text for this call; None for one that a template leaves blank, which gets a row of its own. Raises `RenderFailedError`."""
    options = spec.options
    text = rendered(options["template"], words_of(draft), values(draft)) if "template" in options else str(options["text"])
    text = text if "tag" not in options else tagged(options["tag"], text)
    if text.strip():
        return text
    draft.directives.blank.append((spec.renderer, spec.id))
    return None


def tagged(tag: str, text: str) -> str:
    """The text as data inside of a tag."""
    return f"<{tag}>\n{escape(text, quote=False)}\n</{tag}>"


def met(draft: Draft, condition: str) -> bool:
    """Whether a renderer's `when` holds for this call. Raises `RenderFailedError`."""
    return holds(condition, words_of(draft), values(draft))


def words_of(draft: Draft, message: bool = False) -> Vocabulary:
    """What templates of the draft's agent may name."""
    agent = draft.sources.agent
    return vocabulary(agent.state_schema, agent.output_schema is not None, message)


def values(draft: Draft) -> Mapping[str, Any]:
    """The values of a template's names at this call, made once."""
    directives = draft.directives
    if directives.values is None:
        directives.values = values_of(draft.sources)
    return directives.values


def check_text(check: Check, spec: Mapping[str, Any], pointer: str, facts: DocumentFacts) -> None:
    """One of `text` and `template`, and a tag of letters, digits and underscores."""
    if "text" in spec and "template" in spec:
        check.fault(f"{pointer}/template", "bad-value", "A renderer has a text or a template.")
    elif "template" in spec:
        check_template(check, spec["template"], f"{pointer}/template", vocabulary(facts.state_schema, facts.has_output_schema))
    elif "text" in spec:
        check.text(spec["text"], f"{pointer}/text", TEXT_CHARS_MAX)
    else:
        check.fault(f"{pointer}/text", "missing", "This key is required, or `template` in its place.")
    if "tag" in spec and not (isinstance(spec["tag"], str) and _TAG.fullmatch(spec["tag"])):
        check.fault(f"{pointer}/tag", "bad-value", "A tag has 1 to 64 letters, digits or underscores.")


def check_template(check: Check, value: Any, pointer: str, words: Vocabulary) -> None:
    """A template of the grammar that names known keys alone."""
    if check.text(value, pointer, TEMPLATE_CHARS_MAX) is not None and (error := refused(value, words)) is not None:
        check.fault(pointer, error.code, error.detail)


def check_condition(check: Check, value: Any, pointer: str, facts: DocumentFacts) -> None:
    """A condition: one expression of the same grammar."""
    if check.text(value, pointer, CONDITION_CHARS_MAX) is None:
        return
    if (error := refused(value, vocabulary(facts.state_schema, facts.has_output_schema), condition=True)) is not None:
        check.fault(pointer, error.code, error.detail)
