"""Takes secrets out of texts that people will read: the values we know, and whatever looks like a credential."""

import re
from collections.abc import Iterable

STARS = "********"

# A known value shorter than this is left to the patterns: replacing every "a" would destroy the line and guess the value.
KNOWN_CHARS_MIN = 6

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # Authorization: Bearer x / "authorization": "Basic x"; the whole rest of the value goes.
    (re.compile(r"(?i)(\b(?:proxy-)?authorization\\?[\"']?\s{0,4}[:=]\s{0,4}(?:b?\\?[\"'])?)[^\"'\r\n,;}\]]{1,4096}"), r"\1" + STARS),
    (re.compile(r"(?i)\b(bearer|basic)(\s{1,4})[A-Za-z0-9._~+/=-]{6,4096}"), r"\1\2" + STARS),
    # Headers and fields that carry keys, in JSON, in Python's repr and as name=value.
    (
        re.compile(
            r"(?i)((?:x[-_])?(?:goog[-_])?(?:api[-_]?key|access[-_]?token|auth[-_]?token|refresh[-_]?token|client[-_]?secret|secret[-_]?(?:access[-_]?)?key|password|passwd)"
            r"\\?[\"']?\s{0,4}[:=]\s{0,4}(?:b?\\?[\"'])?)[^\s\"'&,;}\])]{1,4096}"
        ),
        r"\1" + STARS,
    ),
    # Credentials in a URL: user:password@, and the query parameters that vendors use.
    (re.compile(r"(?i)(\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@\"']{0,256}:)[^\s/@\"']{1,1024}(?=@)"), r"\1" + STARS),
    (
        re.compile(r"(?i)([?&](?:key|token|sig|signature|secret|auth|x-amz-(?:signature|credential|security-token))=)[^\s&#\"'<>]{1,4096}"),
        r"\1" + STARS,
    ),
    # Keys that are known by their look.
    (re.compile(r"\b(?:sk|pk|rk|xox[abps]|ghp|gho|glpat|AIza)[-_]?[A-Za-z0-9_-]{16,512}"), STARS),
)


class Redactor:
    """Replaces secrets in a text by stars. Time is linear in the text: every repetition in a pattern is bounded."""

    __slots__ = ("_known",)

    def __init__(self, known: Iterable[str] = ()) -> None:
        # Longest first, so that a value that contains another one goes as a whole.
        self._known = tuple(sorted({value for value in known if len(value) >= KNOWN_CHARS_MIN}, key=len, reverse=True))

    def __call__(self, text: str) -> str:
        """The text without the known values and without what looks like a credential."""
        for value in self._known:
            text = text.replace(value, STARS)
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        return text


def mask(text: str) -> str:
    """A text, such as a transport error with a URL in it, without anything that looks like a credential (X-86)."""
    return Redactor()(text)
