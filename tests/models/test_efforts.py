"""Words of effort."""

import pytest

from app.models.efforts import EFFORTS, nearest_effort


@pytest.mark.parametrize(
    ("wanted", "taken", "sent"),
    [
        ("high", "low medium high", "high"),
        ("max", "low medium high", "high"),
        ("minimal", "none low", "none"),
        ("low", "", None),
        ("none", "medium", "medium"),
        ("medium", "high low", "low"),
        ("high", "xhigh", "xhigh"),
    ],
)
def test_the_nearest_word_that_is_taken_is_sent(wanted, taken, sent):
    assert nearest_effort(wanted, taken) == sent


def test_a_word_that_is_taken_stays():
    assert all(nearest_effort(word, " ".join(EFFORTS)) == word for word in EFFORTS)
