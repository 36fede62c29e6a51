"""Skills as words: who mentions one, what the catalogue holds, what `load_skill` answers, and what a document may say of them."""

from typing import Any

import pytest

from app.config.agent_limits import SKILL_TEXT_BYTES_MAX, SKILLS_MAX
from app.context.agents.check import check_document, facts_of
from app.context.agents.read import read_agent
from app.context.skills import LOAD_SKILL, framed, load_skill, mentioned, revision_of, skill_tool
from app.context.sources import Skill
from app.models.resolve import Limits
from tests.strategies import MODEL, agent

SKILLS = [{"name": "triage-guide", "description": "How to  triage.", "text": "Ask for the pulse."}, {"name": "brief", "text": "Be brief."}]
NAMES = {"triage-guide", "brief"}


@pytest.mark.req("X-73")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("$brief", ["brief"]),
        ("use $triage-guide, please", ["triage-guide"]),
        ("@skill:brief and ($triage-guide)", ["brief", "triage-guide"]),
        ("$brief $brief @skill:brief", ["brief"]),
        ("brief and triage-guide", []),
        ("@brief skill:brief", []),
        ("it costs 5$brief", []),
        ("a@skill:brief", []),
        ("$$brief", []),
        ("$briefly $brief-ly $brief_", []),
        ("$briefü", []),
        ("$nobody", []),
        ("$", []),
        ("$" + "x" * 100, []),
        ("what ends.$brief.", ["brief"]),
    ],
)
def test_only_an_explicit_mention_names_a_skill(text: str, names: list[str]):
    assert mentioned([text], NAMES) == names


def test_mentions_of_several_texts_stand_in_their_order():
    assert mentioned(["$triage-guide", "$brief $triage-guide"], NAMES) == ["triage-guide", "brief"]


@pytest.mark.req("X-72")
def test_the_tool_lists_what_there_is_and_is_the_same_for_all_calls_of_a_revision():
    found = agent(skills=SKILLS, tools=[{"name": "lookup"}])
    lookup, loading = found.tools
    assert (lookup.name, loading.name, loading.executor) == ("lookup", LOAD_SKILL, {"kind": "skill"})
    assert loading.description.splitlines()[1:] == ["- triage-guide: How to triage.", "- brief"]
    assert loading == agent(skills=SKILLS, tools=[{"name": "lookup"}]).tools[1]
    assert "pulse" not in loading.description, "bodies come on demand"
    assert agent().tools == ()


@pytest.mark.req("X-72")
@pytest.mark.parametrize(("window", "least", "most"), [(100, 40, 64), (10_000, 150, 200), (128_000, 1_900, 2_000), (10**9, 1_900, 2_000)])
def test_the_catalogue_is_bounded_and_says_how_many_it_leaves_out(window: int, least: int, most: int):
    skills = [Skill(f"skill-{number:03}", "w" * 400, "t") for number in range(500)]
    lines = skill_tool(skills, window).description.splitlines()[1:]
    assert lines[-1] == f"… and {500 - len(lines) + 1} more"
    assert least <= sum(len(line) + 1 for line in lines) / 4 <= most
    assert skill_tool(skills[:1], 10**6).description.endswith("w" * 400)


@pytest.mark.req("X-72", "X-39")
def test_a_description_that_does_not_fit_leaves_the_name():
    wide = [Skill("chinese", "脈" * 100, "t"), Skill("plain", "short", "t")]
    assert skill_tool(wide, 100).description.splitlines()[1:] == ["- chinese", "- plain: short"]


@pytest.mark.req("S2-20", "X-73")
def test_a_model_gets_the_text_or_hears_what_there_is():
    found = agent(skills=SKILLS)
    assert load_skill(found, '{"name": "brief"}') == (framed("brief", "Be brief."), False)
    text, is_error = load_skill(found, '{"name": "nobody"}')
    assert (text, is_error) == ("There is no skill of this name. The skills are: triage-guide, brief.", True)
    for arguments in ("", "{}", "[]", "not json", '{"name": 3}', '{"name": ["brief"]}', "[" * 200):
        text, is_error = load_skill(found, arguments)
        assert is_error
        assert "triage-guide, brief" in text


@pytest.mark.req("X-71")
def test_a_revision_is_the_digest_of_the_text():
    assert revision_of("abc") == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert revision_of("lone \ud83d") != revision_of("lone \ud83e")


@pytest.mark.parametrize(
    ("skills", "pointer", "code"),
    [
        ("brief", "/skills", "bad-type"),
        ([3], "/skills/0", "bad-type"),
        ([{"text": "t"}], "/skills/0/name", "missing"),
        ([{"name": "s"}], "/skills/0/text", "missing"),
        ([{"name": "two words", "text": "t"}], "/skills/0/name", "bad-skill-name"),
        ([{"name": "-s", "text": "t"}], "/skills/0/name", "bad-skill-name"),
        ([{"name": "s" * 65, "text": "t"}], "/skills/0/name", "bad-skill-name"),
        ([{"name": "s", "text": "t"}, {"name": "s", "text": "u"}], "/skills/1/name", "duplicate-skill-name"),
        ([{"name": "s", "text": " \n"}], "/skills/0/text", "blank"),
        ([{"name": "s", "text": 3}], "/skills/0/text", "bad-type"),
        ([{"name": "s", "text": "t" * (SKILL_TEXT_BYTES_MAX - 1)}], "/skills/0/text", "too-large"),
        ([{"name": "s", "text": "\x01" * (SKILL_TEXT_BYTES_MAX // 4) + "t"}], "/skills/0/text", "too-large"),
        ([{"name": "s", "text": "t", "description": "d" * 1_025}], "/skills/0/description", "too-long"),
        ([{"name": "s", "text": "t", "url": "u"}], "/skills/0/url", "unknown-key"),
        ([{"name": f"s{number}", "text": "t"} for number in range(SKILLS_MAX + 1)], "/skills", "too-many"),
    ],
)
def test_what_is_wrong_with_a_skill_is_said_where_it_stands(skills: Any, pointer: str, code: str):
    assert [(fault.pointer, fault.code) for fault in check_document({"model": MODEL, "skills": skills})] == [(pointer, code)]


def test_a_text_that_fits_exactly_is_taken():
    document = {"model": MODEL, "skills": [{"name": "s", "text": "t" * (SKILL_TEXT_BYTES_MAX - 2)}]}
    assert check_document(document) == []


def test_the_name_of_the_tool_that_loads_is_taken_where_there_are_skills():
    tools = [{"name": "lookup"}, {"name": LOAD_SKILL}]
    faults = check_document({"model": MODEL, "skills": SKILLS, "tools": tools})
    assert [(fault.pointer, fault.code) for fault in faults] == [("/tools/1/name", "reserved-tool-name")]
    assert check_document({"model": MODEL, "tools": tools}) == []
    assert facts_of({"skills": SKILLS, "tools": [{"name": "lookup"}]}).tool_names == {"lookup", LOAD_SKILL}


def test_a_revision_has_the_skills_of_its_document():
    found = read_agent("nurse", 1, {"model": MODEL, "skills": SKILLS}, Limits(10, 5, "explicit"), "sha256:x")
    assert found.skills == (Skill("triage-guide", "How to  triage.", "Ask for the pulse."), Skill("brief", "", "Be brief."))
    assert found.document["skills"] == SKILLS
