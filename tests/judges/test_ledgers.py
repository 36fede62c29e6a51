"""Any ledger compiles, for any model of any dialect, to a body that nobody objects to."""

from collections import Counter

import pytest
from hypothesis import given

from app.formats.registry import FORMATS
from tests.judges.examples import EXAMPLES, law
from tests.judges.judging import objections
from tests.judges.ledgers import Case, cases, targets
from tests.judges.minted import minters

pytestmark = pytest.mark.timeout(900)

SEEN = {
    "openai-chat": ('"tool_calls"', '"image_url"', "No result was recorded", "allowed_tools", '"tool_choice":"required"', "reasoning_effort"),
    "openai-responses": ('"encrypted_content"', '"function_call"', '"input_image"', '"input_file"', "No result was recorded", "allowed_tools"),
    "anthropic-messages": ('"signature"', '"redacted_thinking"', '"tool_use"', '"image"', '"document"', "rawInvalidInput", "conversation begins"),
    "gemini": ('"thoughtSignature"', '"functionCall"', '"inlineData"', "rawInvalidInput", "allowedFunctionNames", "conversation begins"),
    "bedrock-converse": ('"signature"', '"toolUse"', '"image"', '"document"', "rawInvalidInput", '"toolChoice"', "conversation begins"),
}
"""What some of the bodies have to hold, so that the law is about something."""


@pytest.mark.req("S0-28", "S0-29", "S2-25", "X-18", "X-20", "X-21", "X-23", "X-24")
@pytest.mark.parametrize("dialect", FORMATS)
def test_no_judge_objects_to_the_body_of_any_ledger(dialect: str):
    seen: Counter[str] = Counter()

    @law()
    @given(cases(targets(dialect)))
    def bodies(case: Case):
        if case.empty:
            return
        body = case.written().body
        found = objections(dialect, body, case.target)
        if not case.target.rules.prefix_bound:  # no block of such a model stands behind its own prefix here
            found += [f"book {each}" for each in minters()[dialect].refusals(body, case.target)]
        assert not found, (case.target.model, body[:20_000])
        seen.update([word for word in SEEN[dialect] if word in body.decode()])

    bodies()
    if EXAMPLES >= 300:
        assert not set(SEEN[dialect]) - set(seen), seen
