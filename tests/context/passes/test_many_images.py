"""Pictures of which a request holds too many, or some too large beside so many."""

from typing import Any

import pytest

from app.context.compile import Compiled, compile_context
from app.context.passes.binding import bound_prefix
from app.entries.messages import Answer, Message, ToolResult
from app.entries.parts import Blob, Media, Part, Reasoning, Text
from app.models.resolve import Target
from tests.strategies import Ledger, call, target, tokens


def picture(name: int, side: int = 100) -> Media:
    """One of an odd number lies, one of an even number stands."""
    width, height = (side, 20) if name % 2 else (20, side)
    return Media("image", Blob(f"sha256:{name:064}", "image/png", 10, width, height))


def compiled(ledger: Ledger, to: Target) -> Compiled:
    return compile_context(ledger.sources(target=to), tokens)


def shown(found: Compiled) -> list[int]:
    """The numbers of the pictures that are sent."""
    media = [part for message in found.request.messages for part in message.parts if isinstance(part, Media)]
    return [int(part.blob.digest[7:]) for part in media if part.blob is not None]


def of_user(count: int, large: tuple[int, ...] = ()) -> Ledger:
    ledger = Ledger()
    for number in range(count):
        ledger.add("user_message", Message((picture(number, 3000 if number in large else 100),)))
    return ledger


@pytest.mark.req("X-18", "S2-25")
def test_a_picture_that_is_too_large_is_named_and_one_whose_size_nobody_knows_is_sent():
    parts: tuple[Part, ...] = (
        picture(1, 8000),
        picture(2, 8001),
        Media("image", Blob("sha256:" + "0" * 63 + "3", "image/png", 10)),
        picture(5, 8001),
    )
    ledger = Ledger()
    ledger.add("user_message", Message(parts))
    found = compiled(ledger, target(image_pixels_max=8000))
    assert shown(found) == [1, 3]
    assert [(loss.what, loss.why, loss.part) for loss in found.losses] == [("image", "image_too_large", 1), ("image", "image_too_large", 3)]
    assert shown(compiled(ledger, target())) == [1, 2, 3, 5]


def test_of_too_many_the_oldest_go_a_quarter_of_the_limit_at_a_time():
    to = target(images_max=8)
    assert [shown(compiled(of_user(count), to))[0] for count in range(8, 14)] == [0, 2, 2, 4, 4, 6]
    found = compiled(of_user(9), to)
    assert shown(found) == list(range(2, 9))
    assert [(loss.why, loss.seq) for loss in found.losses] == [("too_many_images", 1), ("too_many_images", 2)]
    assert found.request.messages[0].parts == (Text("[image not shown: image/png, 10 bytes]"),)
    assert shown(compiled(of_user(3), target(images_max=2))) == [1, 2], "of a limit that has no quarter, one at a time"


def test_what_is_not_sent_as_a_picture_is_none_of_too_many():
    ledger = Ledger()
    ledger.add("user_message", Message((picture(0), picture(1, 9000), Media("file", Blob(f"sha256:{2:064}", "application/pdf", 10)))))
    ledger.add("assistant_message", Answer((Text("a"), picture(3)), model="scripted"))
    ledger.add("user_message", Message((picture(4),)))
    found = compiled(ledger, target(images_max=2, image_pixels_max=8000))
    assert shown(found) == [0, 2, 4]
    assert [loss.why for loss in found.losses] == ["image_too_large", "not_in_answers"]


def test_large_ones_go_where_there_are_many():
    to = target(many_images=3, many_image_pixels_max=2000)
    assert shown(compiled(of_user(3, large=(0,)), to)) == [0, 1, 2]
    assert shown(compiled(of_user(4, large=(0,)), to)) == [1, 2, 3]
    assert shown(compiled(of_user(4), to)) == [0, 1, 2, 3]
    both = target(many_images=3, many_image_pixels_max=2000, images_max=5)
    assert shown(compiled(of_user(6, large=(5,)), both)) == [0, 1, 2, 3, 4], "what is too large is none of too many"


def in_a_turn(to: Target, before: int, within: int, large: tuple[int, ...] = ()) -> Ledger:
    """A turn whose model thinks, calls, and is shown pictures by its tools."""
    ledger = of_user(before, large)
    ledger.user("look")
    for number in range(before, before + within):
        by = str(to.producer._replace(prefix=bound_prefix(compiled(ledger, to).request)))
        thought = Reasoning(f"t{number}", '{"signature":"s"}', by)
        ledger.add("assistant_message", Answer((thought, call(f"c{number}")), model="scripted"))
        ledger.add("tool_result", ToolResult(f"c{number}", (picture(number),), "lookup"))
    return ledger


@pytest.mark.req("X-20", "X-23")
@pytest.mark.parametrize(
    ("quirks", "large", "kept"),
    [
        ({"images_max": 4}, (), [0, 1, 2, 3]),
        ({"many_images": 4, "many_image_pixels_max": 2000}, (1,), [0, 1, 2, 3]),
        ({"many_images": 4, "many_image_pixels_max": 2000}, (), [0, 1, 2, 3, 4, 5]),
        ({"many_images": 2, "many_image_pixels_max": 2000}, (1,), [0, 2, 3, 4, 5]),
    ],
)
def test_what_a_round_of_calls_has_seen_stands_where_thinking_is_bound_to_it(quirks: dict[str, Any], large: tuple[int, ...], kept: list[int]):
    to = target(provider_blocks=True, prefix_bound=True, result_images=True, **quirks)
    ledger = in_a_turn(to, 3, 3, large)
    found = compiled(ledger, to)
    assert shown(found) == kept
    assert not [loss for loss in found.losses if loss.what == "reasoning"], "no thinking is lost in the middle of a turn"
    for again in ("user", "agent"):
        ledger = in_a_turn(to, 3, 3, large)
        ledger.answer("done")
        getattr(ledger, again)("and now?")
        assert shown(compiled(ledger, to))[-1] == 5, "with the next input the newest are seen"


def test_before_any_input_every_round_of_calls_stands():
    ledger = Ledger()
    for number in range(2):
        ledger.answer(call(f"c{number}"))
        ledger.add("tool_result", ToolResult(f"c{number}", (picture(number),), "lookup"))
    assert shown(compiled(ledger, target(prefix_bound=True, result_images=True, images_max=1))) == [0]
    assert shown(compiled(ledger, target(result_images=True, images_max=1))) == [1]


def test_an_unbound_model_sees_the_newest_at_any_time():
    to = target(provider_blocks=True, result_images=True, images_max=4)
    assert shown(compiled(in_a_turn(to, 3, 3), to)) == [2, 3, 4, 5]
