"""Media, blank texts and arguments that a target does not take."""

from typing import Any

import pytest

from app.context.compile import Compiled, compile_context
from app.context.draft import Loss, Rendered
from app.context.passes.fitting import stand_in
from app.entries.messages import Answer, Message, ToolResult
from app.entries.parts import Blob, Media, Part, Text, ToolCall
from app.models.resolve import Target
from tests.strategies import Ledger, call, target, tokens

PNG = Blob("sha256:" + "a" * 64, "image/png", 900)
PICTURE = Media("image", PNG)


def of_user(*parts: Part, **quirks: Any) -> Compiled:
    ledger = Ledger()
    ledger.add("user_message", Message(parts))
    ledger.user("end")
    return compile_context(ledger.sources(target=target(**quirks)), tokens)


@pytest.mark.req("X-18", "S2-25")
@pytest.mark.parametrize(
    ("media", "quirks", "why"),
    [
        (PICTURE, {"images": False}, "no_images"),
        (PICTURE, {"image_types": "image/jpeg image/webp"}, "media_type_not_taken"),
        (PICTURE, {"image_bytes_max": 899}, "image_too_large"),
        (Media("image", url="https://example.org/x.png"), {"image_urls": False}, "no_image_urls"),
        (Media("file", url="https://example.org/x.pdf"), {}, "no_file_urls"),
        (Media("file", PNG, filename="x.pdf"), {"files": False}, "no_files"),
        (Media("file", PNG), {"file_types": "application/pdf"}, "media_type_not_taken"),
        (Media("file", PNG), {"file_bytes_max": 10}, "file_too_large"),
        (Media("image"), {}, "no_content"),
    ],
)
def test_what_is_not_taken_is_named_instead(media: Media, quirks: dict[str, Any], why: str):
    found = of_user(Text("see"), media, **quirks)
    told, note = found.request.messages[0].parts
    assert told == Text("see")
    assert isinstance(note, Text)
    assert note.text.startswith(f"[{media.kind} not shown")
    assert found.losses == (Loss(media.kind, why, 1, 1),)
    (row,) = [row for row in found.decisions if row.source == {"kind": "entry", "seq": 1}]
    assert (row.disposition, row.reason, row.by) == ("transformed", "media_not_taken", "fitting")


@pytest.mark.parametrize("quirks", [{}, {"image_bytes_max": 900}, {"image_types": "image/png"}])
def test_what_is_taken_stays(quirks: dict[str, Any]):
    found = of_user(PICTURE, Media("image", url="https://example.org/x.png"), Media("file", PNG), **quirks)
    assert len([part for part in found.request.messages[0].parts if isinstance(part, Media)]) == 3
    assert found.losses == ()


def test_a_picture_in_its_own_url_is_fetched_from_nowhere():
    picture = Media("image", url="data:image/png;base64,AA==")
    assert of_user(picture, image_urls=False).request.messages[0].parts == (picture,)


@pytest.mark.parametrize(
    ("media", "told"),
    [
        (Media("file", PNG, filename="x.pdf"), "[file not shown: x.pdf, image/png, 900 bytes]"),
        (Media("image", url="https://example.org/x.png"), "[image not shown: https://example.org/x.png]"),
        (Media("image", url="data:image/png;base64,AA=="), "[image not shown]"),
    ],
)
def test_the_model_is_told_what_it_does_not_get(media: Media, told: str):
    assert stand_in(media) == told


def test_what_is_replaced_counts_as_what_is_sent_in_its_place():
    ledger = Ledger()
    ledger.add("user_message", Message((Text("   "), Text("q"), PICTURE)))
    ledger.answer(call("c", arguments="{not json"))
    ledger.result("c")
    plain = compile_context(ledger.sources(target=target()), tokens).message_tokens
    fitted = compile_context(ledger.sources(target=target(blank_texts=False, images=False, arguments="object")), tokens).message_tokens
    more = len(stand_in(PICTURE)) - len("   "), len('{"rawInvalidInput":"{not json"}') - len("{not json"), 0
    assert fitted == tuple(map(sum, zip(plain, more, strict=True)))


def shots(to: Target) -> Compiled:
    ledger = Ledger()
    ledger.user("shots")
    ledger.answer(call("a", "shot"), call("b", "shot"))
    ledger.add("tool_result", ToolResult("a", (Text("ok"), PICTURE), "shot"))
    ledger.add("tool_result", ToolResult("b", (PICTURE,), None))
    ledger.user("compare")
    return compile_context(ledger.sources(target=to), tokens)


@pytest.mark.req("S2-25")
def test_pictures_of_results_go_behind_all_results_of_the_answer():
    found = shots(target())
    assert [message.role for message in found.request.messages] == ["user", "assistant", "tool", "tool", "user", "user", "user"]
    assert found.request.messages[2].parts == (Text("ok"), Text("[image below]"))
    assert found.request.messages[4].parts == (Text("[From the result of shot:]"), PICTURE)
    assert found.request.messages[4].origin == Rendered("fitting", 3)
    assert found.request.messages[5].parts == (Text("[From the result:]"), PICTURE)
    assert found.losses == ()
    assert found.places == {2: (0, 1), 3: (0,), 4: (None, 1), 5: (None, 0)}
    moved = [row for row in found.decisions if row.source.get("renderer") == "fitting"]
    assert [(row.source, row.reason) for row in moved] == [({"kind": "rendered", "renderer": "fitting", "seq": seq}, "media_moved") for seq in (3, 4)]


def test_a_failed_result_holds_none_where_it_may_not():
    ledger = Ledger()
    ledger.user("shot")
    ledger.answer(call("a", "shot"))
    ledger.add("tool_result", ToolResult("a", (Text("blurred"), PICTURE), "shot", is_error=True))
    found = compile_context(ledger.sources(target=target(result_images=True, error_media=False)), tokens)
    assert found.request.messages[2].parts == (Text("blurred"), Text("[image below]"))
    assert found.request.messages[3].parts == (Text("[From the result of shot:]"), PICTURE)


def test_pictures_stay_in_results_where_they_may_and_are_named_where_the_model_sees_none():
    assert PICTURE in shots(target(result_images=True)).request.messages[2].parts
    blind = shots(target(images=False))
    assert [message.role for message in blind.request.messages] == ["user", "assistant", "tool", "tool", "user"]
    assert [(loss.why, loss.seq) for loss in blind.losses] == [("no_images", 3), ("no_images", 4)]


@pytest.mark.req("S0-28")
def test_blank_texts_go_where_they_are_refused():
    ledger = Ledger()
    ledger.user("a")
    ledger.answer("\n \t")
    ledger.answer("", "real")
    ledger.answer(call("c"), call("d"))
    ledger.add("tool_result", ToolResult("c", (Text(" "),), "lookup"))
    ledger.add("tool_result", ToolResult("d", (), "lookup"))
    ledger.user(" ")
    ledger.user("end")
    found = compile_context(ledger.sources(target=target(blank_texts=False)), tokens)
    said = [[part.text for part in message.parts if isinstance(part, Text)] for message in found.request.messages]
    assert said == [["a"], ["real"], [], ["(no output)"], ["(no output)"], ["end"]]
    reasons = {row.source["seq"]: (row.disposition, row.reason) for row in found.decisions if row.source["kind"] == "entry" and row.by == "fitting"}
    assert reasons == {
        2: ("excluded", "blank_message"),
        3: ("transformed", "blank_text"),
        5: ("transformed", "blank_text"),
        6: ("transformed", "blank_text"),
        7: ("excluded", "blank_message"),
    }
    kept = compile_context(ledger.sources(target=target()), tokens)
    assert len(kept.request.messages) == 8


@pytest.mark.req("X-24")
@pytest.mark.parametrize(
    ("arguments", "spelled", "sent", "why"),
    [
        ('{"a": 1.0}', "object", '{"a": 1.0}', None),
        ('{"a":"\\ud83d"}', "object", '{"a":"\\ud83d"}', None),
        ("", "object", "{}", "empty_arguments"),
        ("", "text", "{}", "empty_arguments"),
        ("{not json", "text", "{not json", None),
        ("{not json", "object", '{"rawInvalidInput":"{not json"}', "no_object"),
        ("[1]", "object", '{"rawInvalidInput":"[1]"}', "no_object"),
        ('{"a":\t"1\n2\\"\x00"}', "object", '{"a":\t"1\\u000a2\\"\\u0000"}', "control_characters"),
        ('{"a":"1\n2"}', "text", '{"a":"1\n2"}', None),
        ('{"a":"1\n2', "object", '{"rawInvalidInput":"{\\"a\\":\\"1\\n2"}', "no_object"),
        ('{"a":"\\\n"}', "object", '{"rawInvalidInput":"{\\"a\\":\\"\\\\\\n\\"}"}', "no_object"),
    ],
)
def test_arguments_are_what_the_wire_asks_for(arguments: str, spelled: str, sent: str, why: str | None):
    ledger = Ledger()
    ledger.user("q")
    ledger.add("assistant_message", Answer((Text("t"), call("c", arguments=arguments))))
    ledger.result("c")
    found = compile_context(ledger.sources(target=target(arguments=spelled)), tokens)
    part = found.request.messages[1].parts[1]
    assert isinstance(part, ToolCall)
    assert part.arguments == sent
    assert found.losses == (() if why is None else (Loss("arguments", why, 2, 1),))
