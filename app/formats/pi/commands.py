"""Shell commands that the user of pi runs are told to the model as user text; this is how pi words them."""

from collections.abc import Mapping
from typing import Any

from app.formats.reading import word


def command_text(message: Mapping[str, Any]) -> str:
    """The text of a `bashExecution` message."""
    output, code = word(message, "output"), message.get("exitCode")
    text = f"Ran `{word(message, 'command') or ''}`\n" + (f"```\n{output}\n```" if output is not None else "(no output)")
    if message.get("cancelled") is True:
        text += "\n\n(command cancelled)"
    elif isinstance(code, int) and code != 0:
        text += f"\n\nCommand exited with code {code}"
    path = word(message, "fullOutputPath")
    if message.get("truncated") is True and path is not None:
        text += f"\n\n[Output truncated. Full output: {path}]"
    return text
