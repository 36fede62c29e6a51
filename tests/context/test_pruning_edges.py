"""Pruning to the token and to the letter: what is large, what is enough, what is recent, what is said, and how the words are cut."""

from dataclasses import replace

import pytest

from app.context.passes.pruning import ARGUMENTS_CHARS_MAX, KEPT_CHARS, told
from app.context.pruning import RESULT_GAIN_MIN, decide
from app.context.sources import Ephemeral, PruningPolicy, Sources
from app.entries.messages import ToolResult, with_parts
from app.entries.parts import Blob, Media, Text
from app.entries.prunings import Pruned, PrunedResult
from app.formats.registry import FORMATS
from tests.context.pressed import LARGE, Told, after, compiled, pressed, reviser
from tests.strategies import agent, call, target, tokens

pytestmark = [pytest.mark.req("X-58")]

PICTURE = Media("image", Blob("sha256:" + "a" * 64, "image/png", 9, 2_000, 2_000))


def decided(sources: Sources, limit: int = 0, prune_from: int = 1) -> Pruned | None:
    found = compiled(sources)
    return decide(found, pressed(found, limit=limit, prune_from=prune_from), tokens)


def taken(sources: Sources, limit: int = 0, prune_from: int = 1) -> list[int]:
    pruned = decided(sources, limit, prune_from)
    return [] if pruned is None else [one.seq for one in pruned.results]


def protecting(ledger: Told, dialect: str, protect: int) -> Sources:
    return replace(ledger.ends(), agent=replace(reviser(), pruning=PruningPolicy(0.65, protect)), target=target(dialect))


def with_picture(ledger: Told, seq: int) -> None:
    body = ledger.messages[seq - 1].body
    ledger.messages[seq - 1] = ledger.messages[seq - 1]._replace(body=with_parts(body, (*body.parts, PICTURE)))


def test_a_result_is_worth_its_words_from_a_gain_on():
    for length in range(200):
        ledger = Told()
        ledger.turn("weather", "{}", "r" * length)
        pruned = decided(ledger.ends())
        if pruned is not None:
            assert pruned.tokens_before - pruned.tokens_after == RESULT_GAIN_MIN
            return
    pytest.fail("nothing was worth it")


def test_a_pruning_is_worth_it_from_a_share_of_the_limit_on():
    ledger = Told()
    seq = ledger.turn("weather", "{}", "r" * 400)
    sources = ledger.ends()
    pruned = decided(sources)
    assert pruned is not None
    saved = pruned.tokens_before - pruned.tokens_after
    assert taken(sources, limit=50 * saved) == [seq]
    assert taken(sources, limit=50 * saved + 1) == []


def test_no_more_is_taken_than_brings_the_request_to_the_low_mark():
    ledger = Told()
    first, second = (ledger.turn("weather", f'{{"day": {day}}}', "r" * 400) for day in range(2))
    sources = ledger.ends()
    total = compiled(sources).measured.total
    saved = total - compiled(after(sources, Pruned((PrunedResult(first, "cleared", "disposable"),), 1, 1))).measured.total
    for low, chosen in ((total - saved, [first]), (total - saved - 1, [first, second])):
        assert taken(sources, prune_from=-(-low * 5 // 4)) == chosen


def test_an_old_result_is_large_from_a_share_of_the_limit_on():
    ledger = Told()
    seqs = [ledger.turn("lookup", f'{{"q": {n}}}', "r" * 400) for n in range(3)]
    weight = ledger.messages[seqs[0] - 1].entry.tokens
    sources = ledger.ends()
    assert (taken(sources, limit=100 * weight), taken(sources, limit=100 * (weight + 1))) == (seqs, [])


def test_a_disposable_result_stays_too_while_its_target_is_spoken_of():
    ledger = Told()
    seq = ledger.turn("peek", '{"at": "/dev/disk"}')
    peeks = agent(tools=[{"name": "peek", "results": {"target": "at", "keep": "disposable"}}], pruning={"protect_recent_tokens": 0})
    for said, chosen in (("how full is /dev/disk by now?", []), ("and now?", [seq])):
        assert taken(replace(ledger.ends(said), agent=peeks)) == chosen


@pytest.mark.parametrize("dialect", FORMATS)
def test_a_picture_weighs_what_it_does_wherever_the_target_has_it_stand(dialect: str):
    """Where results hold none, it is sent behind them."""
    ledger = Told()
    old, new = (ledger.turn("weather", f'{{"day": {day}}}', "rain") for day in range(2))
    text = ledger.messages[new - 1].entry.tokens
    assert taken(protecting(ledger, dialect, 0)) == [], "a few words are not worth others"
    for seq in (old, new):
        with_picture(ledger, seq)
    assert taken(protecting(ledger, dialect, 0)) == [old, new]
    assert taken(protecting(ledger, dialect, text + 1)) == [old], "the newest one alone is protected: it weighs more than its text"
    pruned = decided(protecting(ledger, dialect, 0))
    assert pruned is not None
    again = after(protecting(ledger, dialect, 0), pruned)
    assert PICTURE not in [part for message in compiled(again).request.messages for part in message.parts]
    assert taken(again) == []


def test_what_was_shortened_is_as_recent_as_it_was():
    ledger = Told()
    oldest, middle, newest = (ledger.turn("lookup", f'{{"q": {n}}}') for n in range(3))
    weight = ledger.messages[newest - 1].entry.tokens
    sources = protecting(ledger, "openai-chat", weight + 4_000)
    assert taken(sources) == [oldest]
    assert taken(after(sources, Pruned((PrunedResult(middle, "shortened", "old"),), 1, 1))) == [oldest]


def test_a_user_who_speaks_in_the_middle_of_a_turn_begins_no_other():
    ledger = Told()
    old = ledger.turn("lookup", '{"q": 0}')
    ledger.user("look it up", turn=9)
    ledger.answer(call("call_running"), turn=9)
    ledger.result("call_running", LARGE, turn=9)
    ledger.user("and be quick", turn=9)
    assert taken(ledger.sources(reviser(), running_turn=9)) == [old]


def test_results_of_a_newest_answer_with_an_open_call_stay():
    ledger = Told()
    old = ledger.turn("lookup", '{"q": 0}')
    ledger.user("look both up", turn=9)
    ledger.answer(call("call_open_1"), call("call_open_2"), turn=9)
    ledger.result("call_open_1", LARGE, turn=9)
    assert taken(ledger.sources(reviser())) == [old]


@pytest.mark.parametrize(("call_id", "kept"), [("call-0008", True), ("call-008", True), ("call-08", False)])
def test_a_call_id_is_long_enough_to_be_no_chance(call_id: str, kept: bool):
    ledger = Told()
    seq = ledger.turn("lookup", "{}", call_id=call_id)
    assert (taken(ledger.ends(f"what did {call_id} say?")) == [seq]) is not kept


@pytest.mark.parametrize(("path", "kept"), [("/a.py", True), ("/a.b", True), ("a.b", False)])
def test_a_target_is_long_enough_to_be_no_chance(path: str, kept: bool):
    ledger = Told()
    seq = ledger.turn("read", f'{{"path": "{path}", "offset": 4}}')
    assert (taken(ledger.ends(f"what of {path}?")) == [seq]) is not kept


def test_a_call_on_a_target_is_no_word_of_it():
    ledger = Told()
    seq = ledger.turn("read", '{"path": "/a.py", "offset": 4}')
    ledger.user("go on", turn=9)
    ledger.answer(call("call_running", "read", '{"path": "/a.py", "offset": 8}'), turn=9)
    ledger.add("tool_result", ToolResult("call_running", (Text("ok"),), "read"), turn=9)
    assert taken(ledger.sources(reviser(), running_turn=9)) == [seq]


def test_a_note_that_is_not_stored_is_no_input():
    ledger = Told()
    seq = ledger.turn("read", '{"path": "/a.py", "offset": 4}')
    sources = ledger.ends("look at /a.py again")
    said = Ephemeral("user_message", (Text("be quick"),), tokens=3, after_seq=ledger.seq)
    for note, chosen in ((replace(said, kind="agent_message"), []), (said, [seq])):
        assert taken(replace(sources, ephemeral=(note,))) == chosen


def test_a_text_is_cut_where_that_makes_it_shorter():
    def shown(length: int) -> str:
        return told(ToolResult("c", (Text("b" + "m" * (length - 2) + "e"),), "lookup"), 7, None, "shortened")

    mark = shown(3).partition("\n")[2]
    assert mark == "[A part of the result of lookup was left out here: it has 7 tokens.]"
    whole = 2 * KEPT_CHARS + len(mark)
    assert shown(whole) == "b" + "m" * (whole - 2) + "e\n" + mark
    ends = "m" * (KEPT_CHARS - 1)
    assert shown(whole + 1) == f"b{ends}\n{mark}\n{ends}e"


def test_the_words_name_the_tool_and_so_much_of_its_arguments():
    long = call("c", "lookup", "x" * (ARGUMENTS_CHARS_MAX + 1))
    short = call("c", "lookup", "x" * ARGUMENTS_CHARS_MAX)
    nameless = ToolResult("c", (Text("y"),))
    assert told(nameless, 1, long, "cleared") == f"[The result of lookup {'x' * ARGUMENTS_CHARS_MAX}… was left out: 1 tokens.]"
    assert told(nameless, 1, short, "cleared") == f"[The result of lookup {'x' * ARGUMENTS_CHARS_MAX} was left out: 1 tokens.]"
    assert told(nameless, 1, None, "cleared") == "[The result of the tool was left out: 1 tokens.]"
