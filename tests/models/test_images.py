"""What a picture costs: the published examples, and rules that hold for any size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.models.images import FORM, image_tokens
from app.models.traits import _IMAGES, with_traits
from app.models.wire_rules import UnknownQuirk, WireRules, with_quirks

RULES = sorted({counting for _, counting, _ in _IMAGES if counting})
sides = st.integers(1, 20_000)


@pytest.mark.parametrize(
    ("counting", "width", "height", "tokens"),
    [
        ("tiles 85 170", 1024, 1024, 765),  # OpenAI's guide: 768 × 768, four tiles
        ("tiles 85 170", 2048, 4096, 1105),  # 1024 × 2048, 768 × 1536, six tiles
        ("tiles 85 170", 512, 512, 255),
        ("tiles 2833 5667", 1024, 1024, 25501),
        ("patches 32 0 1536 1", 1024, 1024, 1024),
        ("patches 32 0 1536 1", 1800, 2400, 1536),
        ("patches 32 0 1536 1.62", 1024, 1024, 1659),
        ("patches 28 1568 1568 1", 280, 281, 110),
        ("patches 28 1568 1568 1", 3136, 56, 56),
        ("patches 28 2576 4784 1", 2576, 2576, 4784),
        ("squares 384 768 258", 384, 384, 258),
        ("squares 384 768 258", 385, 100, 258),
        ("squares 384 768 258", 1536, 769, 1032),
        ("squares 900 500 10", 900, 900, 10),
        ("squares 900 500 10", 901, 900, 40),
    ],
)
def test_the_published_examples(counting: str, width: int, height: int, tokens: int):
    assert image_tokens(counting, 1, width, height) == tokens


@pytest.mark.parametrize(("counting", "size"), [("", (10, 10)), ("tiles 85 170", (None, None)), ("tiles 85 170", (0, 5)), ("tiles 85 170", (5, 0))])
def test_without_a_size_or_a_rule_the_flat_figure_counts(counting: str, size: tuple[int | None, int | None]):
    assert image_tokens(counting, 77, *size) == 77


@pytest.mark.parametrize("counting", RULES)
@given(width=sides, height=sides)
def test_any_size_costs_something_and_it_does_not_matter_which_side_is_up(counting: str, width: int, height: int):
    found = image_tokens(counting, 1, width, height)
    assert 0 < found == image_tokens(counting, 1, height, width)
    kind, *figures = counting.split()
    if kind == "patches":
        assert found <= float(figures[2]) * float(figures[3]) + 1
    if kind == "tiles":
        assert found <= float(figures[0]) + 8 * float(figures[1])


@pytest.mark.parametrize(
    ("model", "counting", "tokens"),
    [
        ("gpt-4o-2024-08-06", "tiles 85 170", 765),
        ("gpt-4o-mini", "tiles 2833 5667", 25_501),
        ("gpt-5", "tiles 70 140", 630),
        ("openai/gpt-5-mini", "patches 32 0 1536 1.62", 2_489),
        ("gpt-5.2", "patches 32 0 1536 1", 1_536),
        ("gpt-5.4-mini", "patches 32 2048 2500 1", 2_500),
        ("gpt-6.2-astra", "patches 32 0 30000 1.2", 4_916),
        ("gpt-6-sol", "patches 32 2048 2500 1.2", 3_000),
        ("o4-mini", "patches 32 0 1536 1.72", 2_642),
        ("claude-sonnet-4-6", "patches 28 1568 1568 1", 1_568),
        ("claude-4-opus", "patches 28 1568 1568 1", 1_568),
        ("us.anthropic.claude-opus-5-5-v1:0", "patches 28 2576 4784 1", 4_784),
        ("gemini-2.5-pro", "squares 384 768 258", 2_322),
        ("models/gemini-3-pro", "", 1_120),
        ("gemma-3", "", 765),
    ],
)
def test_the_rule_follows_the_model_to_whatever_place(model: str, counting: str, tokens: int):
    rules = with_traits(WireRules(), model)
    assert (rules.image_counting, rules.image_tokens) == (counting, tokens)


def test_a_rule_whose_cost_has_a_bound_takes_an_unsized_picture_for_the_bound():
    for _, counting, tokens in _IMAGES:
        kind, *figures = counting.split() or [""]
        if kind == "patches" and int(figures[2]) < 30_000:
            assert tokens == -(-int(figures[2]) * int(float(figures[3]) * 100) // 100)
        elif counting:
            assert tokens == image_tokens(counting, 0, 2048, 2048)


@pytest.mark.parametrize(
    ("model", "images", "files"), [("gpt-4o", True, True), ("gpt-6.2-sol", True, False), ("deepseek-v4-pro", False, False), ("gemma-3", True, True)]
)
def test_what_a_model_is_known_not_to_see_is_not_sent(model: str, images: bool, files: bool):
    rules = with_traits(WireRules(), model)
    assert (rules.images, rules.files) == (images, files)
    assert not with_traits(WireRules(images=False, files=False), model).images


def test_a_dialects_own_rule_stays():
    rules = WireRules(image_counting="tiles 1 1", image_tokens=3)
    assert with_traits(rules, "gpt-4o").image_counting == "tiles 1 1"


@pytest.mark.parametrize("counting", ["patches 32", "patches 0 1 1 1", "tiles 85", "tiles a b", "squares 1 0 1", "circles 1", " "])
def test_a_rule_that_makes_no_sense_is_refused(counting: str):
    with pytest.raises(UnknownQuirk):
        with_quirks(WireRules(), {"image_counting": counting})


def test_every_rule_of_ours_is_well_formed():
    assert all(FORM.fullmatch(counting) for _, counting, _ in _IMAGES)
