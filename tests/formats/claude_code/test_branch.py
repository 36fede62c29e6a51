"""Which records stand on the current branch."""

from app.formats.claude_code.branch import current_branch
from tests.formats.claude_code.sessions import assistant, line, result, text, tool_use, user


def test_the_path_goes_through_lines_that_are_no_conversation():
    records = [user("u1", None, "a"), line("progress", "p", "u1"), assistant("a1", "p", "m", text("b")), line("system", "y", "a1")]
    assert current_branch(records) == {0, 2}


def test_parallel_calls_and_their_results_are_on_the_branch_wherever_they_hang():
    records = [
        user("u1", None, "a"),
        assistant("a1", "u1", "m", tool_use("t1")),
        assistant("a2", "a1", "m", tool_use("t2")),
        result("r1", "a1", "t1"),
        result("r2", "a2", "t2"),
        assistant("a3", "r2", "m2", text("done")),
    ]
    assert current_branch(records) == {0, 1, 2, 3, 4, 5}


def test_a_missing_parent_is_passed_by_the_line_before_and_a_loop_ends():
    records = [user("u1", None, "a"), assistant("a1", "gone", "m", text("b")), user("u2", "a1", "c")]
    assert current_branch(records) == {0, 1, 2}
    assert current_branch([user("u1", "u2", "a"), user("u2", "u1", "b")]) == {0, 1}


def test_a_compact_boundary_is_passed_by_its_logical_parent():
    boundary = line("system", "b", None, subtype="compact_boundary", logicalParentUuid="u1")
    assert current_branch([user("u1", None, "a"), user("left", None, "x"), boundary, user("u2", "b", "c")]) == {0, 3}


def test_nothing_has_no_branch():
    assert current_branch([]) == frozenset()
    assert current_branch([line("system", "x", None)]) == frozenset()
