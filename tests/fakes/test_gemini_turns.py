"""Each rule of turns and signatures: a body that is refused for it, and its near twin that is served."""

import base64

import pytest

from tests.fakes.gemini_bodies import FLASH, FOUR, IMAGE, SIGNATURE, THREE, Twins, body, call, given, model, user

NUMBER = "number of function response parts is equal to the number of function call parts"
SIGNED = call(thoughtSignature=SIGNATURE)
MISSING = "missing a thought_signature in functionCall parts"
RAW_STAND_IN = "skip_thought_signature_validator"
STAND_IN = base64.b64encode(RAW_STAND_IN.encode()).decode()

TURNS = {
    "nothing said": Twins({"contents": []}, "contents is not specified", body()),
    "no parts": Twins(body({"role": "user", "parts": []}), "must not be empty", body(user({"text": ""}))),
    "part without data": Twins(body(user(), model({"thoughtSignature": SIGNATURE})), "oneof field 'data'", body(user(), model({"text": ""}))),
    "part of two kinds": Twins(body(user({"text": "x", **IMAGE})), "already set", body(user({"text": "x"}, IMAGE))),
    "unknown role": Twins(body({"role": "assistant", "parts": [{"text": "x"}]}), "valid role: user, model", body(user())),
    "system's role": Twins(
        body({"role": "system", "parts": [{"text": "x"}]}, user()), "valid role", body(systemInstruction={"role": "system", "parts": [{"text": "x"}]})
    ),
    "no role amidst": Twins(body(user(), {"parts": [{"text": "x"}]}), "valid role", body({"parts": [{"text": "x"}]})),
    "model first": Twins(body(model(), user()), "starts with a user turn", body(user(), model(), user())),
    "model last": Twins(body(user(), model()), "end with a model turn", body(user(), model()), FOUR, THREE),
    "call after a model": Twins(
        body(user(), model(), model(call()), user(given())),
        "immediately after a user turn",
        body(user(), model({"text": "x"}, call()), user(given())),
    ),
    "call unanswered": Twins(body(user(), model(call()), user()), NUMBER, body(user(), model(call()), user(given()), user())),
    "call at the end": Twins(body(user(), model(call())), NUMBER, body(user(), model(call()), user(given()))),
    "one of two": Twins(body(user(), model(call(), call()), user(given())), NUMBER, body(user(), model(call(), call()), user(given(), given()))),
    "one too many": Twins(body(user(), model(call()), user(given(), given())), NUMBER, body(user(), model(call()), user(given()))),
    "responses in two contents": Twins(
        body(user(), model(call(), call()), user(given()), user(given())), NUMBER, body(user(), model(call(), call()), user(given(), given()))
    ),
    "response without a call": Twins(body(user(), model(), user(given())), NUMBER, body(user(), model(call()), user(given()))),
    "response first": Twins(body(user(given())), NUMBER, body(user())),
    "response with text": Twins(
        body(user(), model(call()), user(given(), {"text": "x"})), "can not be mixed", body(user(), model(call()), user(given()), user({"text": "x"}))
    ),
    "another id": Twins(
        body(user(), model(call(id="a")), user(given(id="b"))), "ids and names do not match", body(user(), model(call(id="a")), user(given(id="a")))
    ),
    "id on one side": Twins(body(user(), model(call()), user(given(id="a"))), "do not match", body(user(), model(call()), user(given()))),
    "another name": Twins(
        body(user(), model(call("a"), call("b")), user(given("b"), given("a"))),
        "in its order",
        body(user(), model(call("a", id="1"), call("b", id="2")), user(given("b", id="2"), given("a", id="1"))),
    ),
    "id twice": Twins(
        body(user(), model(call(id="a"), call(id="a")), user(given(id="a"), given(id="a"))),
        "ids must be unique",
        body(user(), model(call(id="a"), call(id="b")), user(given(id="a"), given(id="b"))),
    ),
    "call by a user": Twins(body(user(call()), user(given())), "only a model turn", body(user(), model(call()), user(given()))),
    "response by a model": Twins(body(user(), model(call()), model(given())), "only a user turn", body(user(), model(call()), user(given()))),
    "thoughts of a user": Twins(
        body(user({"text": "x", "thought": True})), "only a model turn can have thoughts", body(user(), model({"text": "x", "thought": True}))
    ),
    "call without a name": Twins(body(user(), model(call("")), user(given(""))), "Name cannot be empty", body(user(), model(call()), user(given()))),
    "response that is text": Twins(
        body(user(), model(call()), user(given(response="7"))), "TYPE_STRUCT", body(user(), model(call()), user(given(response={"error": "7"})))
    ),
    "arguments that are text": Twins(body(user(), model(call(args="{}")), user(given())), "TYPE_STRUCT", body(user(), model(call()), user(given()))),
    "picture in a response": Twins(
        body(user(), model(SIGNED), user(given(parts=[IMAGE]))),
        "Multimodal function responses",
        body(user(), model(SIGNED), user(given(parts=[IMAGE]))),
        FLASH,
        THREE,
    ),
    "picture of another kind": Twins(
        body(user({"inlineData": {"mimeType": "image/gif", "data": "AA=="}})), "Unsupported MIME type: image/gif", body(user(IMAGE))
    ),
    "file without a place": Twins(
        body(user({"fileData": {"mimeType": "image/png"}})), "file_uri", body(user({"fileData": {"fileUri": "https://example.com/files/a"}}))
    ),
    "response left out": Twins(
        body(user(), model(call()), user({"functionResponse": {"name": "count"}})),
        "function_response.response",
        body(user(), model(call()), user(given())),
    ),
    "picture of another kind in a response": Twins(
        body(user(), model(SIGNED), user(given(parts=[{"inlineData": {"mimeType": "image/tiff", "data": "AA=="}}]))),
        "Unsupported MIME type: image/tiff",
        body(user(), model(SIGNED), user(given(parts=[IMAGE]))),
        THREE,
    ),
    "picture without data": Twins(body(user({"inlineData": {"mimeType": "image/png"}})), "inline_data.data", body(user(IMAGE))),
    "content that is none": Twins(body("How many?"), "google.ai.generativelanguage.Content", body(user())),
    "instructions that are a picture": Twins(
        body(systemInstruction={"parts": [IMAGE]}), "only text", body(systemInstruction={"parts": [{"text": "Be brief."}]})
    ),
}
SIGNATURES = {
    "call unsigned": Twins(body(user(), model(call()), user(given())), MISSING, body(user(), model(SIGNED), user(given())), THREE),
    "call unsigned, older model": Twins(
        body(user(), model(call()), user(given())), MISSING, body(user(), model(call()), user(given())), "gemini-3.1-pro-preview", FLASH
    ),
    "call unsigned, a model that draws": Twins(
        body(user(), model(call()), user(given())), MISSING, body(user(), model(call()), user(given())), FOUR, "gemini-3-pro-image-preview"
    ),
    "second of two signed": Twins(
        body(user(), model(call(), SIGNED), user(given(), given())), MISSING, body(user(), model(SIGNED, call()), user(given(), given())), THREE
    ),
    "second step unsigned": Twins(
        body(user(), model(SIGNED), user(given()), model(call()), user(given())),
        "position 4",
        body(user(), model(SIGNED), user(given()), model(SIGNED), user(given())),
        THREE,
    ),
    "first step unsigned": Twins(
        body(user(), model(call()), user(given()), model(SIGNED), user(given())),
        "`default_api:count`, position 2",
        body(user(), model(call()), user(given()), model(), user(), model(SIGNED), user(given())),
        THREE,
    ),
    "stands in": Twins(
        body(user(), model(call(thoughtSignature="")), user(given())),
        MISSING,
        body(user(), model(call(thoughtSignature=STAND_IN)), user(given()), model(call(thoughtSignature=RAW_STAND_IN)), user(given())),
        THREE,
    ),
    "no base64": Twins(
        body(user(), model(call(thoughtSignature="!")), user(given())),
        "Base64 decoding failed",
        body(user(), model(call(thoughtSignature="_-8")), user(given())),
        THREE,
    ),
}


@pytest.mark.parametrize("twins", [*TURNS.values(), *SIGNATURES.values()], ids=[*TURNS.keys(), *SIGNATURES.keys()])
def test_a_body_is_refused_for_its_rule_and_its_twin_is_served(twins: Twins):
    twins.hold()
