"""Run it with `pytest docs/examples/test_triage.py`: a triage agent is tested without a model. Explained in docs/testing.md."""

import pytest

from app import testing
from app.testing import has_result, has_status, has_text, has_tool_call, model, tool_call, user

TRIAGE = {
    "model": {"upstream": "openai", "name": "the-model-of-your-choice"},
    "context": [
        {"renderer": "system", "text": "You are a triage nurse. Check the allergy record before advising."},
        {"renderer": "history"},
    ],
    "tools": [
        {
            "name": "lookup_allergies",
            "description": "Look up the recorded allergies of a patient.",
            "parameters": {"type": "object", "properties": {"patient": {"type": "string"}}},
        }
    ],
}


def lookup_allergies(patient):
    return {"patient": patient, "allergies": ["penicillin"]}


@pytest.fixture(scope="module")
def service():
    with testing.service() as running:  # brings a Postgres of its own, which goes when the block ends
        yield running


def test_the_record_is_checked_before_advice_is_given(service):
    run = service.run_blocking(
        TRIAGE,
        [
            user("Can I take amoxicillin?"),
            model(reasoning="Check the record first.", tool_calls=[tool_call("lookup_allergies", {"patient": "ada"})]),
            model("Your record lists penicillin, and amoxicillin is a penicillin. Avoid it."),
        ],
        tools={"lookup_allergies": lookup_allergies},  # runs for real; result(…) as a step would mock it
    )
    run.check(
        has_status("completed"),
        has_tool_call("lookup_allergies", {"patient": "ada"}),
        has_result("lookup_allergies", {"allergies": ["penicillin"]}),
        has_text("Avoid it.") & ~has_text("Take it."),
    )

    first, second = run.renders  # what the model was sent, call by call
    assert first.roles == ("system", "user")
    assert second.roles == ("system", "user", "thought", "tool_call", "tool_result")
    assert [first.message_count, second.message_count] == [2, 5]
    assert second.pieces[-1].text == '{"patient": "ada", "allergies": ["penicillin"]}'
    assert first.tools == ("lookup_allergies",)
    assert second.verified is True  # derived again from the ledger: the very bytes that were sent
