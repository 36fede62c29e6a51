"""JSON text taken apart without being read, so that a body of a case is sent on with every escape, number and nesting as written."""


def members(text: str) -> dict[str, str]:
    """The members of an object: name to the value's own text. Raises `ValueError` for anything that is no object on the outside.

    Nothing inside a value is looked at beyond strings and brackets: a value may be no JSON at all, or nested as deep as it likes.
    """
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        raise ValueError("no object")
    found: dict[str, str] = {}
    for piece in _split(body[1:-1], ","):
        if piece.strip():
            name, value = _split(piece, ":", most=2)
            found[name.strip()[1:-1]] = value.strip()
    return found


def _split(text: str, mark: str, most: int | None = None) -> list[str]:
    """The text cut at a mark that stands outside of strings and brackets."""
    found: list[str] = []
    depth, start, quoted, skip = 0, 0, False, False
    for at, letter in enumerate(text):
        if skip:
            skip = False
        elif quoted:
            skip = letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in "{[":
            depth += 1
        elif letter in "}]":
            depth -= 1
        elif letter == mark and depth == 0 and (most is None or len(found) < most - 1):
            found.append(text[start:at])
            start = at + 1
    return [*found, text[start:]]
