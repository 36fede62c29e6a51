"""The Gemini fake at work: the official client reads what it writes, its signatures are its own, and it fails as it is told to."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from google import genai
from google.genai import errors, types
from google.genai.models import AsyncModels

from tests.fakes.answers import Answer, Redacted, Text, Thinking, ToolCall, Usage
from tests.fakes.gemini import KEY, OTHER_KEY, FakeGemini, QuotaFault, fake_gemini, tokens
from tests.fakes.gemini_proto import read
from tests.fakes.gemini_stream import event
from tests.fakes.serving import Fault

MODEL = "gemini-3-flash-preview"
SHOWN = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(include_thoughts=True))
USER = types.UserContent("How many?")
CALLS = (ToolCall("count", '{"tree": 1}'), ToolCall("count"))
ASKS = Answer((Thinking("Let me see."), Text("I count, 🍏 by 🍏."), *CALLS), usage=Usage(26, 40, 64, 0, 8))
DONE = Answer((Redacted(), Text("Seven trees, no less.")))


@asynccontextmanager
async def client(fake: FakeGemini, key: str = KEY, version: str = "v1beta") -> AsyncIterator[AsyncModels]:
    """The official client, on httpx: what it makes of aiohttp warns of itself."""
    async with httpx.AsyncClient() as http:
        options = types.HttpOptions(base_url=fake.url, api_version=version, httpx_async_client=http)
        yield genai.Client(api_key=key, http_options=options).aio.models


async def ask(fake: FakeGemini, *contents: Any, model: str = MODEL, config: Any = None, **more: Any) -> list[types.GenerateContentResponse]:
    async with client(fake, **more) as gemini:
        stream = await gemini.generate_content_stream(model=model, contents=list(contents), config=config)
        return [response async for response in stream]


def said(responses: list[types.GenerateContentResponse]) -> types.Content:
    """The parts as they came, in one content."""
    parts = [part for response in responses for candidate in response.candidates or () for part in (candidate.content or USER).parts or ()]
    return types.Content(role="model", parts=parts)


def results(content: types.Content) -> types.Content:
    asked = [part.function_call for part in content.parts or () if part.function_call]
    given = [types.FunctionResponse(id=call.id, name=call.name, response={"output": "7"}) for call in asked]
    return types.Content(role="user", parts=[types.Part(function_response=response) for response in given])


async def test_the_official_client_holds_a_conversation_with_it():
    async with fake_gemini(answers=[ASKS, DONE]) as fake, client(fake, version="v1") as gemini:
        responses = await ask(fake, USER, config=SHOWN, version="v1")
        first = said(responses)
        shown = "".join(part.text or "" for part in first.parts or () if part.thought)
        assert (shown, "".join(part.text or "" for part in first.parts or () if not part.thought)) == ("Let me see.", "I count, 🍏 by 🍏.")
        calls = [part for part in first.parts or () if part.function_call]
        assert [part.function_call.args for part in calls if part.function_call] == [{"tree": 1}, {}]
        assert [bool(part.thought_signature) for part in calls] == [True, False]
        figures = [response.usage_metadata for response in responses]
        counts = [(used.candidates_token_count or 0) for used in figures if used is not None]
        assert counts == sorted(counts)
        last = figures[-1]
        assert last is not None
        assert (last.prompt_token_count, last.cached_content_token_count, last.candidates_token_count) == (90, 64, 32)
        assert (last.thoughts_token_count, last.total_token_count) == (8, 130)
        second = await ask(fake, USER, first, results(first))
        assert "".join(response.text or "" for response in second) == "Seven trees, no less."
        ends = [candidate.finish_reason for response in (*responses, *second) for candidate in response.candidates or ()]
        assert [end for end in ends if end] == [types.FinishReason.STOP] * 2
        whole = await gemini.generate_content(model="any", contents=[USER])
        assert whole.text == "Seven trees, no less."
        counted = await gemini.count_tokens(model=MODEL, contents=[USER])
        assert counted.total_tokens == tokens(fake.counted[0])
        assert (fake.models, fake.refused) == ([MODEL, MODEL, "any"], [])


@pytest.mark.parametrize(("late", "bearer"), [(True, ""), (False, "ss.")])
async def test_text_is_signed_on_its_last_part(late: bool, bearer: str):
    async with fake_gemini(answers=[DONE]) as fake:
        fake.late_signatures = late
        content = said(await ask(fake, USER))
        signed = [part for part in content.parts or () if part.thought_signature]
        assert len(signed) == 1
        assert signed[0].text == bearer
        await ask(fake, USER, content, USER)
        joined = types.Part(text="Seven trees, no less.", thought_signature=signed[0].thought_signature)
        with pytest.raises(errors.ClientError, match="Thought signature is not valid"):
            await ask(fake, USER, types.Content(role="model", parts=[joined]), USER)


async def test_a_signature_goes_back_only_as_it_came_and_where_it_came_from():
    async with fake_gemini(answers=[ASKS]) as fake:
        first = said(await ask(fake, USER))
        parts = list(first.parts or ())
        at = next(index for index, part in enumerate(parts) if part.thought_signature)
        signature = parts[at].thought_signature
        assert signature is not None

        def with_signature(changed: bytes | None, index: int = at) -> types.Content:
            bare = [part.model_copy(update={"thought_signature": None}) for part in parts]
            return types.Content(
                role="model", parts=[*bare[:index], bare[index].model_copy(update={"thought_signature": changed}), *bare[index + 1 :]]
            )

        async def refused(words: str, content: types.Content, key: str = KEY, model: str = MODEL) -> None:
            with pytest.raises(errors.ClientError, match=words) as found:
                await ask(fake, USER, content, results(content), key=key, model=model)
            assert (found.value.code, found.value.status) == (400, "INVALID_ARGUMENT")

        await refused("Thought signature is not valid", with_signature(signature[:-1] + b"?"))
        await refused("Thought signature is not valid", with_signature(b"foreign"))
        await refused("Thought signature is not valid", first, key=OTHER_KEY)
        await refused("Thought signature is not valid", first, model="gemini-3.5-flash")
        await refused("Thought signature is not valid", first, model="gemini-2.5-flash")
        await refused("missing a thought_signature", with_signature(None))
        await refused("missing a thought_signature", with_signature(signature, at + 1))
        await ask(fake, USER, first, results(first))
        await ask(fake, USER, with_signature(b"skip_thought_signature_validator"), results(first))
        await ask(fake, USER, with_signature(None), results(first), key=OTHER_KEY, model="gemini-2.5-flash")
        text = types.Content(role="model", parts=[types.Part(text="x", thought_signature=b"skip_thought_signature_validator")])
        with pytest.raises(errors.ClientError, match="Thought signature is not valid"):
            await ask(fake, USER, text, USER)


@pytest.mark.parametrize(
    ("model", "signed", "named"), [(MODEL, 1, True), ("any", 1, False), ("gemini-2.5-flash", 0, False), ("gemini-2.0-flash", 0, False)]
)
async def test_what_is_signed_depends_on_the_model(model: str, signed: int, named: bool):
    async with fake_gemini(answers=[Answer(CALLS)]) as fake:
        content = said(await ask(fake, USER, model=model))
        assert sum(bool(part.thought_signature) for part in content.parts or ()) == signed
        assert all(bool(part.function_call.id) is named for part in content.parts or () if part.function_call)
        await ask(fake, USER, content, results(content), model=model)


async def test_how_an_answer_ends():
    script = [Answer((Text("Sev"),), "output_cap"), Answer((Text("No."),), "refused"), Answer((ToolCall("count", '{"a":'),))]
    async with fake_gemini(answers=script) as fake:
        for reason in ("MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL"):
            last = (await ask(fake, USER))[-1]
            assert (last.candidates or [])[0].finish_reason == reason


async def test_a_recorded_stream_is_played_to_the_byte_and_its_signatures_are_good():
    part = {"functionCall": {"name": "count", "args": {}}, "thoughtSignature": "AAECAw=="}
    stream = event({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}) * 9
    async with fake_gemini([stream]) as fake, httpx.AsyncClient(headers={"x-goog-api-key": KEY}) as http:
        url, body = f"{fake.url}/v1beta/models/m", {"contents": [{"parts": [{"text": "x"}]}]}
        assert (await http.post(f"{url}:streamGenerateContent?alt=sse", json=body)).content == stream
        assert (await http.post(f"{url}:generateContent", json=body)).status_code == 400
        given = {"functionResponse": {"name": "count", "response": {}}}
        for signature, found in (("AAECAw", 0), ("AAECBA", 1)):
            parts = [{"text": "x"}], [{**part, "thoughtSignature": signature}], [given]
            contents = [{"role": role, "parts": said} for role, said in zip(("user", "model", "user"), parts, strict=True)]
            assert len(fake.judge({"contents": contents}, "m")) == found


async def test_without_events_a_stream_is_an_array():
    async with fake_gemini(answers=[DONE]) as fake, httpx.AsyncClient(headers={"x-goog-api-key": KEY}) as http:
        url, body = f"{fake.url}/v1/models/{MODEL}", {"contents": [{"parts": [{"text": "x"}]}]}
        array = (await http.post(f"{url}:streamGenerateContent", json=body)).json()
        parts = [part for response in array for part in response["candidates"][0]["content"]["parts"]]
        assert "".join(part["text"] for part in parts) == "Seven trees, no less."
        inner = {"generateContentRequest": {**body, "model": f"models/{MODEL}", "tools": []}}
        assert (await http.post(f"{url}:countTokens", json=inner)).json()["totalTokens"] == tokens(inner)
        for wrong in ({**inner, **body}, {"generateContentRequest": body}, {"generateContentRequest": {"model": f"models/{MODEL}"}}):
            assert (await http.post(f"{url}:countTokens", json=wrong)).status_code == 400
        assert (await http.post(f"{url}:generateContent", json={**body, "continuationToken": "AA=="})).status_code == 400


async def test_keys_and_places():
    async with fake_gemini(answers=[DONE]) as fake, httpx.AsyncClient() as http:
        url, body = f"{fake.url}/v1beta/models/m:generateContent", {"contents": [{"parts": [{"text": "x"}]}]}
        bare = await http.post(url, json=body)
        assert (bare.status_code, bare.json()["error"]["status"]) == (403, "PERMISSION_DENIED")
        wrong = await http.post(url, json=body, headers={"x-goog-api-key": "AIza-wrong"})
        assert (wrong.status_code, wrong.json()["error"]["details"][0]["reason"]) == (400, "API_KEY_INVALID")
        assert (await http.post(f"{url}?key={KEY}", json=body)).status_code == 200
        assert (await http.post(f"{fake.url}/v1beta/models/m:embedContent?key={KEY}", json=body)).status_code == 404
        assert (len(fake.served), fake.refused) == (1, [])
        assert fake.upstream().base_url == f"{fake.url}/v1beta"


async def test_it_fails_on_demand():
    async with fake_gemini(answers=[ASKS]) as fake:
        fake.faults = [QuotaFault(retry_delay="7s"), Fault(503), Fault(stop_at_byte=1500, then="error", kind="UNAVAILABLE"), QuotaFault()]
        for code, status in ((429, "RESOURCE_EXHAUSTED"), (503, "UNAVAILABLE"), (503, "UNAVAILABLE")):
            with pytest.raises(errors.APIError, match=r"Made to fail\.") as failed:
                await ask(fake, USER)
            assert (failed.value.code, failed.value.status) == (code, status)
        fake.wrapped_errors = True
        async with httpx.AsyncClient(headers={"x-goog-api-key": KEY}) as http:
            body = {"contents": [{"parts": [{"text": "x"}]}]}
            sent = await http.post(f"{fake.url}/v1/models/m:generateContent", json=body)
            quota, retry = sent.json()[0]["error"]["details"]
            assert "PerMinute" in quota["violations"][0]["quotaId"]
            assert retry == {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "14s"}


async def test_a_stream_is_cut():
    async with fake_gemini(answers=[ASKS]) as fake:
        fake.faults = [Fault(stop_at_byte=1500), Fault(stop_at_byte=1540, then="end")]
        with pytest.raises(Exception, match=r"incomplete chunked read|payload is not completed"):
            await ask(fake, USER)
        async with httpx.AsyncClient(headers={"x-goog-api-key": KEY}) as http:
            url, body = f"{fake.url}/v1/models/m:streamGenerateContent?alt=sse", {"contents": [{"parts": [{"text": "x"}]}]}
            assert b"finishReason" not in (await http.post(url, json=body)).content


def test_proto_json_is_read_in_each_of_its_spellings():
    plain = {
        "contents": [{"role": "model", "parts": [{"functionCall": {"name": "a"}, "thoughtSignature": base64.b64encode(b"\xff\xfe?").decode()}]}],
        "tools": [{"functionDeclarations": [{"name": "a", "parameters": {"type": "OBJECT"}}]}],
        "generationConfig": {"maxOutputTokens": 9, "stopSequences": ["x"]},
    }
    loose = {
        "contents": {"role": "model", "parts": {"function_call": {"name": "a", "args": None}, "thought_signature": "__4_"}},
        "tools": [{"function_declarations": [{"name": "a", "description": None, "parameters": {"type": "object"}}]}],
        "generation_config": {"max_output_tokens": "9", "stop_sequences": "x", "temperature": None},
        "system_instruction": None,
    }
    assert read(json.loads(json.dumps(plain)), "GenerateContentRequest") == read(loose, "GenerateContentRequest")
    assert read(loose, "GenerateContentRequest")[1] == []
