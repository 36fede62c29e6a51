"""A secret is seen by whoever asks for it by name, and by nobody else."""

import copy
import json
import pickle

import pytest

from app.config.secret import STARS, Secret

VALUE = "postgresql://ledger:hunter22@db/ledger"


@pytest.mark.req("X-86")
def test_every_way_of_printing_shows_stars():
    secret = Secret(VALUE)
    shown = [str(secret), repr(secret), f"{secret}", f"{secret:>40}", f"{secret!r}", f"{secret}", repr([secret]), repr({"key": secret})]
    assert all(STARS in each and "hunter22" not in each for each in shown)


@pytest.mark.req("X-86")
def test_one_accessor_gives_the_value():
    assert Secret(VALUE).reveal() == VALUE


@pytest.mark.req("X-86")
@pytest.mark.parametrize("leave", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps, vars])
def test_it_does_not_leave_by_copy_or_serialisation(leave):
    with pytest.raises(TypeError):
        leave(Secret(VALUE))


def test_it_compares_by_value_and_never_with_a_text():
    assert Secret(VALUE) == Secret(VALUE)
    assert Secret(VALUE) != Secret("other")
    assert Secret(VALUE) != VALUE
    assert len({Secret(VALUE), Secret(VALUE), Secret("other")}) == 2
    assert Secret("\ud800") == Secret("\ud800")
    assert not Secret("")
