"""The ids that tests name are known, so that a misspelt one cannot pass for a requirement that is shown."""

import pytest

from tests.requirements import ASKED, LATER, NOT_ASKED, named_ids, read_ids, shown_by


def test_every_named_id_is_known():
    known = {one for ids in read_ids().values() for one in ids}
    unknown = {one: places for one, places in shown_by().items() if one not in known}
    assert not unknown, f"not in tests/requirement-ids.txt (None: not a plain text): {unknown}"


def test_the_list_has_its_three_parts():
    assert set(read_ids()) == {ASKED, LATER, NOT_ASKED}


def test_an_id_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "ids.txt"
    path.write_text("[asked for]\nS0-01 S0-02\n[later]\nS0-01\n")
    with pytest.raises(ValueError, match="twice: S0-01"):
        read_ids(path)


def test_ids_are_found_in_marks_of_every_form():
    source = """
import pytest
pytestmark = [pytest.mark.req("X-03", "X-04")]
@pytest.mark.req(name)
def test_it():
    pytest.param(1, marks=pytest.mark.req("T-01"))
"""
    assert sorted(map(str, (one for _, one in named_ids(source)))) == ["None", "T-01", "X-03", "X-04"]
