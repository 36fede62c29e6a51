"""Rollout files of the Codex command line to sessions: every line becomes an entry or a part of one, or is listed as lost with the reason.

A line is `{timestamp, type, payload}`; the `response_item`s are the conversation, in the order in which the model was sent it, and the
`event_msg`s are the client's view of the same. Files of 2025 have the items bare, a line each. What a rollback took back stays
visible and out of context; so does the summary that a compaction put in the place of what stands in the file in full.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from app.entries.messages import Message, Status
from app.entries.parts import Text, ToolCall
from app.entries.wire import read_timestamp
from app.formats.codex.words import BARE, NO_MESSAGE, spoken_by_items, spoken_in_events, why_lost
from app.formats.protocols import ImportedSession, Note, UnreadableImport
from app.formats.reading import mapping, word
from app.formats.reading.entries import Entries, spare
from app.formats.reading.files import first_words, records
from app.formats.reading.responses_items import Items

_HEADER = ("id", "forked_from_id", "timestamp", "cwd", "originator", "cli_version", "source", "model_provider", "git")
_PROMPTS = frozenset({*_HEADER, "instructions", "base_instructions"})
_SUMMARY = frozenset({"message"})


def read(data: Iterable[bytes]) -> Iterator[ImportedSession]:
    """The session of a file. Raises `UnreadableImport` where no line is an item of a conversation."""
    held, broken = records(data)
    session = _Rollout([(place, _layered(record)) for place, record in held]).read()
    session.lost[:0] = broken
    yield session


def _layered(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A line of the older layout as one of the newer."""
    if "payload" in record:
        return record
    if "type" in record:
        return {"type": "response_item" if str(record["type"]) in BARE else str(record["type"]), "payload": record}
    return {"type": "session_meta" if "id" in record else str(record.get("record_type")), "payload": record, "timestamp": record.get("timestamp")}


class _Rollout:
    """One file in the reading. `in_context` and `asked`: positions of the entries that no rollback took back, and of prompts, up to `looked_at`."""

    def __init__(self, lines: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self.lines = lines
        self.entries = Entries("codex", "lines")
        self.session = self.entries.session
        self.items = Items(self.entries, says_model=True)
        self.header: dict[str, Any] = {}
        self.in_context: list[int] = []
        self.asked: list[int] = []
        self.looked_at = 0
        said = [mapping(record.get("payload")) for _, record in lines if record.get("type") == "response_item"]
        self.spoken = spoken_by_items(said)
        self.prompts = spoken_in_events([mapping(record.get("payload")) for _, record in lines if record.get("type") == "event_msg"])

    def read(self) -> ImportedSession:
        for place, record in self.lines:
            self._line(place, record)
        if not any(entry.kind != "system_message" for entry in self.session.entries):
            raise UnreadableImport("The file holds no item of a Codex conversation.")
        self.session.external_id = word(self.header, "id")
        self.session.title = self.session.title or first_words(self.session.entries)
        return self.entries.finish({"session": self.header} if self.header else None)

    def _line(self, place: str, record: Mapping[str, Any]) -> None:
        kind, payload = str(record.get("type")), mapping(record.get("payload"))
        what = "/".join(dict.fromkeys(part for part in (kind, word(payload, "type")) if part))
        if kind == "response_item" and str(payload.get("type")) not in NO_MESSAGE:
            self.items.take(payload, place, read_timestamp(record.get("timestamp")), hidden=self._injected(payload))
        elif kind == "session_meta" and not self.header:
            self._header(place, payload)
        elif kind == "compacted":
            self._compacted(place, record, payload)
        else:
            if kind == "turn_context":
                self.items.model = word(payload, "model") or self.items.model
            elif kind == "event_msg":
                self._event(payload)
            self.entries.lose(place, what, why_lost(kind, payload, self.spoken))

    def _header(self, place: str, payload: Mapping[str, Any]) -> None:
        """The first line: whose session this is, and what the model was told before it."""
        self.header = {key: payload[key] for key in _HEADER if payload.get(key) is not None}
        told = payload.get("base_instructions")
        text = word(mapping(told), "text") or word(payload, "base_instructions") or word(payload, "instructions")
        self.session.changed.extend([Note(place, str(key)[:64], "a setting of the client that is not kept") for key in spare(payload, _PROMPTS)])
        if text is None:
            self.entries.lose(place, "session_meta", "no message; what it says of the session stands with the first entry")
            return
        self.entries.add("system_message", Message((Text(text),)), place, read_timestamp(payload.get("timestamp")))
        self.entries.keep()

    def _injected(self, payload: Mapping[str, Any]) -> bool:
        """Whether a user's item is none that the user wrote: the client mirrors each prompt in an event."""
        if payload.get("role") != "user" or self.prompts is None:
            return False
        return not self.prompts & spoken_by_items([payload])

    def _compacted(self, place: str, record: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        self.items.close()
        text = word(payload, "message")
        if text is None:
            self.entries.lose(place, "compacted", "what the client put in the place of what stands before it in full")
            return
        covered = any(entry.kind == "user_message" for entry in self.session.entries)
        self.entries.add("user_message", Message((Text(text),)), place, read_timestamp(record.get("timestamp")), in_context=not covered)
        self.entries.keep()
        if covered:
            self.entries.change(place, "summary", "a compaction summary of what stands before it in full: visible, and in no later model call")
        self.session.changed.extend([Note(place, str(key)[:64], "what the client went on with is not kept") for key in spare(payload, _SUMMARY)])

    def _event(self, payload: Mapping[str, Any]) -> None:
        kind = payload.get("type")
        if kind == "turn_aborted":
            self._aborted()
        elif kind == "thread_rolled_back":
            turns = payload.get("num_turns")
            self._rolled_back(turns if isinstance(turns, int) else 0)
        elif kind == "thread_name_updated":
            title = word(payload, "thread_name") or word(payload, "name")
            self.session.title = title[:500] if title else self.session.title

    def _aborted(self) -> None:
        """An answer at the end was cut short. One that asked for calls was whole: what is missing is their results."""
        self.items.close()
        last = len(self.session.entries) - 1
        cut = last >= 0 and self.session.entries[last].kind == "assistant_message"
        if cut and not any(isinstance(part, ToolCall) for part in self.entries.parts(last)):
            self.entries.settle(last, Status.CANCELLED, None, "the turn was aborted: its last answer is kept as cancelled")

    def _rolled_back(self, turns: int) -> None:
        """The last prompts and what followed them leave the context; what the client put before the first prompt stays."""
        self.items.close()
        for at in range(self.looked_at, len(self.session.entries)):
            entry = self.session.entries[at]
            if entry.include_in_context:
                self.in_context.append(at)
                if entry.kind == "user_message" and not entry.hidden:
                    self.asked.append(at)
        self.looked_at = len(self.session.entries)
        if turns <= 0 or not self.asked:
            return
        cut = self.asked[-min(turns, len(self.asked))]
        del self.asked[-min(turns, len(self.asked)) :]
        while self.in_context and self.in_context[-1] >= cut:
            self.entries.leave_out(self.in_context.pop(), "branch", "taken back by a rollback: visible, and in no later model call")
