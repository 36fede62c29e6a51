"""What the Responses endpoint remembers of its own answers: tokens that it made and for whom, items that it keeps, what led to what.

A reasoning item goes back as it came, to the model and the organisation that it came from, before the item that it led to (wire-format
notes 0.3 and 3.2). Newer models drop what does not fit; this endpoint refuses it, as the older ones do, so that a test sees it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Any

from tests.fakes.openai_chat_rules import Breach
from tests.fakes.openai_responses_items import kind_of, not_kept
from tests.fakes.openai_responses_order import alone, order_breaches


@dataclass(frozen=True, slots=True)
class Minted:
    """A reasoning item that was answered: whose it is, and the item that came next (None: it was the last)."""

    item: dict[str, Any]
    model: str
    organisation: str
    following: dict[str, Any] | None


class Book:
    """One endpoint's memory. `minted` has reasoning items by their id, `tokens` the id of the item that a token is of."""

    def __init__(self) -> None:
        self.minted: dict[str, Minted] = {}
        self.tokens: dict[str, str] = {}
        self.reasoning_of: dict[str, str] = {}
        self.kept: dict[tuple[str, str], dict[str, Any]] = {}
        self.conversations: dict[tuple[str, str], list[Any]] = {}

    def token(self) -> str:
        """A fresh opaque token, of the look of the real ones."""
        return "gAAAAABq" + token_urlsafe(150)

    def renewed(self, item: dict[str, Any]) -> dict[str, Any]:
        """The item as it is told a second time: a reasoning item has another token then, which is as good."""
        if kind_of(item) != "reasoning":
            return item
        again = {**item, "encrypted_content": self.token()}
        self._good(again)
        return again

    def record(self, response: dict[str, Any], organisation: str, asked: list[Any]) -> None:
        """Takes down a response that was sent, and keeps it if it was stored; `asked` are the items that it answers."""
        output = response["output"]
        reasoning = None
        for item, following in zip(output, [*output[1:], None], strict=False):
            if kind_of(item) == "reasoning":
                reasoning = item["id"]
                self.minted[item["id"]] = Minted(item, response["model"], organisation, following)
                self._good(item)
            elif reasoning is not None:
                self.reasoning_of[item["id"]] = reasoning
            if response["store"]:
                self.kept[organisation, item["id"]] = item
        if response["store"]:
            self.conversations[organisation, response["id"]] = [*asked, *output]

    def remember(self, told: list[Any], body: dict[str, Any], organisation: str) -> None:
        """Takes down an answer that was recorded, from its events or from its one response object. Each token that it tells is good."""
        responses = [each.get("response", each) for each in told if isinstance(each, dict) and "output" in each.get("response", each)]
        closed = [event["item"] for event in told if isinstance(event, dict) and event.get("type") == "response.output_item.done"]
        last: dict[str, Any] = responses[-1] if responses else {"id": "", "output": []}
        stored = body.get("store") is not False
        response = {"id": last["id"], "model": body["model"], "store": stored, "output": closed or last["output"]}
        self.record(response, organisation, self.items(body, organisation))
        for item in last["output"]:
            self._good(item)

    def _good(self, item: dict[str, Any]) -> None:
        if kind_of(item) == "reasoning" and item.get("encrypted_content"):
            self.tokens[item["encrypted_content"]] = item["id"]

    def items(self, body: dict[str, Any], organisation: str) -> list[Any]:
        """The whole conversation of a body: what it continues, and its items with each reference replaced by what is kept."""
        before = self.conversations.get((organisation, body.get("previous_response_id") or ""), [])
        asked = body.get("input")
        if isinstance(asked, str):
            return [*before, {"role": "user", "content": asked}]
        return [*before, *(self._resolved(item, organisation) for item in asked or ())]

    def _resolved(self, item: Any, organisation: str) -> Any:
        return self.kept.get((organisation, item["id"]), item) if kind_of(item) == "item_reference" else item

    def breaches(self, body: dict[str, Any], organisation: str) -> Iterator[Breach]:
        """What is wrong with a body in the light of what was answered before."""
        previous = body.get("previous_response_id")
        if previous is not None and (organisation, previous) not in self.conversations:
            words = f"Previous response with id '{previous}' not found."
            yield Breach(words, "previous_response_id", "previous_response_not_found")
            return
        items = self.items(body, organisation)
        yield from order_breaches(items)
        for index, item in enumerate(items):
            if kind_of(item) == "item_reference":
                yield not_kept(item["id"])
            elif kind_of(item) == "reasoning":
                yield from self._reasoning(item, body["model"], organisation)
                yield from self._following(item, items[index + 1 : index + 2])
            else:
                yield from self._preceded(item, items[:index])

    def _reasoning(self, item: dict[str, Any], model: str, organisation: str) -> Iterator[Breach]:
        token, id = item.get("encrypted_content"), item.get("id")
        if token is None:
            if (organisation, str(id)) not in self.kept:
                yield not_kept(str(id))
            return
        minted = self.minted.get(self.tokens.get(token, ""))
        reason = None
        if minted is None:
            reason = "Encrypted content could not be decrypted or parsed."
        elif minted.organisation != organisation:
            reason = "Encrypted content organization_id did not match the target organization."
        elif minted.model != model:
            reason = "Encrypted content model did not match the target model."
        elif id is not None and id != minted.item["id"]:
            reason = "Encrypted content item_id did not match the target item id."
        elif item.get("summary") != minted.item["summary"]:
            reason = "Encrypted content did not match the item's summary."
        if reason is not None:
            words = f"The encrypted content for item {id} could not be verified. Reason: {reason}"
            yield Breach(words, None, "invalid_encrypted_content")

    def _following(self, item: dict[str, Any], rest: Sequence[Any]) -> Iterator[Breach]:
        """A reasoning item stands directly before the item that it led to, also where that one is sent without its id."""
        minted = self.minted.get(self._id(item))
        if minted is None or minted.following is None:
            return
        led_to, found = minted.following, rest[0] if rest else {}
        by = ("id",) if found.get("id") is not None else ("type", "call_id")
        if any({"type": kind_of(found), **found}.get(key) != led_to.get(key) for key in by):
            yield alone(minted.item)

    def _id(self, item: dict[str, Any]) -> str:
        """The id of a reasoning item, also of one that was sent without; empty where neither it nor its token is known."""
        return item.get("id") or self.tokens.get(item.get("encrypted_content") or "", "")

    def _preceded(self, item: Any, before: Sequence[Any]) -> Iterator[Breach]:
        """An item with its id needs the reasoning that led to it; without its id it stands for itself."""
        id = item.get("id")
        needed = self.reasoning_of.get(id) if isinstance(id, str) else None
        if needed is None:
            return
        if not any(kind_of(one) == "reasoning" and self._id(one) == needed for one in before):
            words = f"Item '{id}' of type '{kind_of(item)}' was provided without its required 'reasoning' item: '{needed}'."
            yield Breach(words, "input")
