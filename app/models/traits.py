"""What a model is known to take and to cost, over the rules of its dialect: facts that follow it to whatever server it is behind."""

import re
from dataclasses import replace

from app.models.catalogue import lookup, plain_name
from app.models.families import CLAUDE_UP_TO_4_6
from app.models.wire_rules import WireRules

_IMAGES: tuple[tuple[str, str, int], ...] = (
    (r"(?:gpt-4\.1-mini|gpt-5-mini)", "patches 32 0 1536 1.62", 2_489),
    (r"(?:gpt-4\.1-nano|gpt-5-nano)", "patches 32 0 1536 2.46", 3_779),
    (r"o4-mini", "patches 32 0 1536 1.72", 2_642),
    (r"gpt-5\.2", "patches 32 0 1536 1", 1_536),
    (r"gpt-6(?:\.\d+)?-astra", "patches 32 0 30000 1.2", 4_916),
    (r"gpt-(?:5\.[6-9]|6)", "patches 32 2048 2500 1.2", 3_000),
    (r"gpt-5\.[45]", "patches 32 2048 2500 1", 2_500),
    (r"gpt-5", "tiles 70 140", 630),
    (r"gpt-4o-mini", "tiles 2833 5667", 25_501),
    (r"(?:gpt-4o|gpt-4\.1|chatgpt-4o)", "tiles 85 170", 765),
    (r"o[13]", "tiles 75 150", 675),
    (CLAUDE_UP_TO_4_6, "patches 28 1568 1568 1", 1_568),
    (r"claude-", "patches 28 2576 4784 1", 4_784),
    (r"gemini-[12]\.", "squares 384 768 258", 2_322),
    (r"gemini-", "", 1_120),
)
"""Beginnings of plain names → rule of `images`, and the tokens of a picture whose size is not known (wire-format notes 7.4).

Nothing is said to the provider of the detail, so its default counts: the size as it is on gpt-6-astra, high elsewhere. A picture of
unknown size is taken for the most that it can cost, and for 2048 × 2048 where the rule has no such bound or a remote one.
"""

_BY_NAME = tuple((re.compile(pattern), counting, tokens) for pattern, counting, tokens in _IMAGES)


def with_traits(rules: WireRules, model: str) -> WireRules:
    """The rules with what is known of the model laid over them: whether it sees pictures and reads files, and what a picture costs.

    A dialect's own word on pictures (`image_counting`) stays.
    """
    row = lookup(model)
    if row is not None and row.takes is not None:
        rules = replace(rules, images=rules.images and "image" in row.takes, files=rules.files and "pdf" in row.takes)
    if rules.image_counting:
        return rules
    name = plain_name(model)
    found = next(((counting, tokens) for pattern, counting, tokens in _BY_NAME if pattern.match(name)), None)
    return rules if found is None else replace(rules, image_counting=found[0], image_tokens=found[1])
