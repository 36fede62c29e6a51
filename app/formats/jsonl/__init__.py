"""Floor 3: our own export, one JSON object a line, lossless both ways. A stranger to the other formats.

Version 1. The key that comes first says what a line is:

    {"context_ledger": 1, "session": {…}}     the first line of a session: version, and what the writer says of the session
    {"blob": "sha256:…", "media_type": …, "data": base64}     before the first entry that names it
    {"seq": …, "kind": …, "version": …, "turn": …, "message_index": …, "agent": …, "invocation": …, "tokens": …, "hidden": …,
     "include_in_context": …, "at": …, "recorded_at": …, "digest": …, "attributes": text, "body": text}
    {"end": {"entries": n}}     the last line of a session: without it the file was cut

`attributes` and `body` are JSON texts inside strings, so that numbers, key order and lone surrogates stay as written. A file
may hold several sessions. A reader refuses a greater version, and ignores keys of a line that it does not know.
"""
