"""Requests of one run: JSON in and out, whole lists, events; a refusal becomes a `StepRefused` that names the step."""

import json
from collections.abc import Mapping
from typing import Any

import httpx

from app.config.limits import LIST_LIMIT_MAX
from app.formats.framing.sse import SseReader
from app.testing.faults import StepRefused
from app.testing.run import Event

DETAIL_FAULTS_MAX = 10


class Talk:
    """One client with one key. `doing` is what it does, for messages: the present step."""

    def __init__(self, client: httpx.AsyncClient, key: str) -> None:
        self._client = client
        self._headers = {"authorization": f"Bearer {key}", "accept": "application/json"}
        self.doing = "setting up"

    async def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON of a successful answer. Raises `StepRefused`."""
        answer = await self._client.request(method, path, json=body, headers=self._headers)
        if answer.is_success:
            return answer.json()
        try:
            problem = answer.json()
        except ValueError:
            problem = {"status": answer.status_code, "code": "no-problem-document", "detail": "The answer was no problem document."}
        raise StepRefused(f"{self.doing}: {method} {path} was refused: {told(problem)}", problem)

    async def whole(self, path: str, cursor: str, query: str = "") -> list[Any]:
        """All rows of a list, page by page. `cursor` is the parameter that its `next` goes into."""
        found: list[Any] = []
        page = await self.ask("GET", f"{path}?limit={LIST_LIMIT_MAX}{query}")
        found += page["data"]
        while page["has_more"]:
            page = await self.ask("GET", f"{path}?limit={LIST_LIMIT_MAX}{query}&{cursor}={page['next']}")
            found += page["data"]
        return found

    async def events(self, session: str, turn_id: str) -> list[Event]:
        """All events of a turn that rests, as its stream tells them; `session` is the session's path."""
        found: list[Event] = []
        reader = SseReader()
        headers = {**self._headers, "accept": "text/event-stream"}
        async with self._client.stream("GET", f"{session}/turns/{turn_id}/events", headers=headers) as answer:
            if answer.status_code != 200:
                await answer.aread()
                raise StepRefused(f"{self.doing}: the events of a turn were refused: {answer.status_code}", {"status": answer.status_code})
            async for piece in answer.aiter_bytes():
                found += [Event(turn_id, int(event.id), event.name, json.loads(event.data)) for event in reader.feed(piece)]
        return found


def told(problem: Mapping[str, Any]) -> str:
    """A problem document in a line: status, code, sentence, and where the faults are."""
    faults = [f"{fault['pointer'] or '/'}: {fault['detail']}" for fault in problem.get("errors", ())[:DETAIL_FAULTS_MAX]]
    return " ".join([f"{problem.get('status')} {problem.get('code')}.", str(problem.get("detail", "")), *faults])
