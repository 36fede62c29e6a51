"""What aimock answers to which words; it reads its rules once, at the start."""

from typing import Any

GEMINI = "gemini-2.5-flash"
HELLO = "Bonjour, le monde — 你好! It is a fine day."
ASKED = "What is the weather in Oslo, and what the time?"
CALLS = [
    {"name": "get_weather", "arguments": '{"city":"Oslo"}', "id": "call_weather_1"},
    {"name": "get_time", "arguments": '{"city":"Oslo"}', "id": "call_time_1"},
]
TOLD = "It is 21 degrees in Oslo, at noon."
THOUGHT = "The traveller means the capital of Norway."
REASONED = "The capital of Norway is Oslo."
LONG = "These words never come to their end, since the stream is cut."
INPUT, OUTPUT = 120, 30

# The names of one and the same usage in the dialects.
USAGE = {
    "prompt_tokens": INPUT,
    "completion_tokens": OUTPUT,
    "total_tokens": INPUT + OUTPUT,
    "input_tokens": INPUT,
    "output_tokens": OUTPUT,
    "promptTokenCount": INPUT,
    "candidatesTokenCount": OUTPUT,
    "totalTokenCount": INPUT + OUTPUT,
}

AIMOCK_RULES: list[dict[str, Any]] = [
    {"match": {"userMessage": "Say hello"}, "response": {"content": HELLO, "usage": USAGE}},
    # Left to itself it ends Gemini's calls with FUNCTION_CALL, which is no finish reason of Gemini's (wire-format notes 0.5 and 5.3).
    {
        "match": {"userMessage": ASKED, "hasToolResult": False, "model": GEMINI},
        "response": {"toolCalls": CALLS, "finishReason": "stop", "usage": USAGE},
    },
    {"match": {"userMessage": ASKED, "hasToolResult": False}, "response": {"toolCalls": CALLS, "usage": USAGE}},
    {"match": {"userMessage": ASKED, "toolResultContains": "noon"}, "response": {"content": TOLD, "usage": USAGE}},
    {"match": {"userMessage": "Call oddly", "hasToolResult": False}, "response": {"toolCalls": CALLS, "usage": USAGE}},
    {"match": {"userMessage": "Call oddly", "toolResultContains": "Not executed"}, "response": {"content": HELLO, "usage": USAGE}},
    {"match": {"userMessage": "Think first"}, "response": {"reasoning": THOUGHT, "content": REASONED, "usage": USAGE}},
    # With no time between its pieces it drops the connection before the first of them has left.
    {"match": {"userMessage": "Be cut"}, "response": {"content": LONG, "usage": USAGE}, "latency": 30, "truncateAfterChunks": 5},
    {"match": {"userMessage": "Be busy"}, "response": {"error": {"message": "Slow down.", "type": "rate_limit_error"}, "status": 429}},
]
