"""Import and export."""

from app.api.schemas.basics import COUNT, SESSION_ID, answer, arr, nullable, text

NOTE = answer({"source": text(), "what": text(), "why": text()})

IMPORTED = answer(
    {
        "sessions": arr(
            answer(
                {
                    "id": nullable(SESSION_ID),
                    "title": nullable(text()),
                    "messages": COUNT,
                    "kept": COUNT,
                    "already_stored": COUNT,
                    "changed": arr(NOTE),
                    "lost": arr(NOTE),
                }
            )
        )
    },
    description="What became of each session of the file. `id` is null in a dry run.",
)
