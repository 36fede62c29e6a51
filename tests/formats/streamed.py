"""The streams of each dialect, as the laws that all readers share need them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from app.entries.deltas import Delta, StreamFailed
from tests.formats.anthropic import streams as anthropic
from tests.formats.bedrock import streams as bedrock
from tests.formats.gemini import streams as gemini
from tests.formats.openai_chat import streams as chat
from tests.formats.openai_responses import streams as responses


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """One dialect. Between `begin` and `end` any `fragments` may stand."""

    read: Callable[[Iterable[bytes]], list[Delta]]
    recorded: Callable[[Path], dict[str, bytes]]
    begin: bytes = b""
    fragments: list[bytes]
    end: bytes
    needed: bytes
    """As much of an end as a reader needs: without its last byte the answer is broken off."""
    noisy: Callable[[bytes], list[list[bytes]]] = lambda noise: [[noise], [b"data: " + noise + b"\n\n"]]
    """Streams that are no answer, whatever the noise in them."""
    small: int | None
    """A recorded stream that is shorter is cut at every byte; None: each is."""
    middling: int | None
    """A recorded stream that is shorter is cut into sevens; None: each is."""
    recorded_end: Callable[[str, bytes], int]
    """Where the end of a recorded stream begins; 0 for one that cannot be broken off."""
    breaks: int = 25
    """At how many places before its end, at least, a recorded stream is broken off."""
    truncated: str
    """What is said of a stream that was broken off."""

    @property
    def failure(self) -> StreamFailed:
        return StreamFailed("stream-truncated", self.truncated, retryable=True)


STREAMED = {
    "anthropic-messages": Streamed(
        read=anthropic.read,
        recorded=anthropic.recorded,
        begin=anthropic.begin(),
        fragments=[
            anthropic.PING,
            anthropic.text(0, "é🌍\u2028 nul \x00", "x"),
            anthropic.thinking(1, "th", "S"),
            anthropic.call(2, "a", "f", '{"x"', ":1}"),
            anthropic.start(3, type="server_tool_use", id="s", name="n", input={}) + anthropic.stop(3),
            b": comment\r\n\r\n",
            anthropic.text(4, "y").replace(b"\n", b"\r\n"),
            anthropic.event("message_delta", delta={}, usage={"output_tokens": 4}),
        ],
        end=anthropic.finish("tool_use"),
        needed=anthropic.finish().rstrip(b"\n"),
        small=1_500,
        middling=30_000,
        recorded_end=lambda name, stream: 600 if name in anthropic.SECOND_ANSWER else stream.rindex(b"message_stop"),
        truncated="The stream ended without its terminal event.",
    ),
    "bedrock-converse": Streamed(
        read=bedrock.read,
        recorded=bedrock.recorded,
        fragments=[
            bedrock.START,
            bedrock.delta(0, text="é🌍\u2028 nul \x00"),
            bedrock.delta(1, reasoningContent={"text": "th"}),
            bedrock.delta(1, reasoningContent={"signature": "s"}),
            bedrock.opened(2, toolUse={"toolUseId": "a", "name": "f"}),
            bedrock.delta(2, toolUse={"input": '{"x"'}),
            bedrock.opened(3, toolUse={"toolUseId": "b", "name": "g", "type": "server_tool_use"}),
            bedrock.delta(3, toolUse={"input": "{}"}),
            bedrock.stop(1),
            bedrock.stop(3),
            bedrock.event("unknown", x=1),
            bedrock.METADATA,
        ],
        end=bedrock.END,
        needed=bedrock.END,
        noisy=lambda noise: [[noise], [bedrock.START, noise]],
        small=None,
        middling=None,
        recorded_end=lambda _, stream: bedrock.stop_of(stream),
        breaks=50,
        truncated="The stream ended without its stop event.",
    ),
    "gemini": Streamed(
        read=gemini.read,
        recorded=gemini.recorded,
        fragments=[
            gemini.event(gemini.text("é🌍\u2028 nul \x00")),
            gemini.event(gemini.text("hm", thought=True)),
            gemini.event(gemini.call("f", {"x": 1}, "a", thoughtSignature="Zm9v"), gemini.call("g")),
            gemini.event(gemini.text("", thoughtSignature="Zm9v")).replace(b"\r\n", b"\n"),
            b": comment\r\n\r\n",
            gemini.event({"executableCode": {"code": "1"}}),
            gemini.event(gemini.text("x"), usage={"promptTokenCount": 3, "candidatesTokenCount": 4}).replace(b"\r\n", b"\r"),
        ],
        end=gemini.STOP,
        needed=gemini.STOP[:-2],  # without its blank line an event is none
        noisy=lambda noise: [
            [noise],
            [b"data: " + noise + b"\n\n"],
            [b"[" + noise],
            [b"{" + noise],
            [gemini.event(gemini.text("x")), b"{" + noise],
        ],
        small=1_000,
        middling=20_000,
        recorded_end=lambda _, stream: stream.rindex(b"data:"),
        truncated="The stream ended without a finish reason.",
    ),
    "openai-chat": Streamed(
        read=chat.read,
        recorded=chat.recorded,
        fragments=[
            chat.chunk({"role": "assistant", "content": ""}),
            chat.chunk({"content": "é🌍\u2028 nul \x00"}),
            chat.chunk({"reasoning_content": "th"}),
            chat.call(0, "a", "f", '{"x"'),
            chat.call(0, None, None, ":1}"),
            chat.call(1, "b", "g", "{}"),
            b": comment\r\n\r\n",
            chat.chunk({"content": "x"}).replace(b"\n", b"\r\n"),
            chat.data({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
        ],
        end=chat.chunk({}, "tool_calls") + chat.DONE,
        needed=chat.chunk({}, "tool_calls"),
        small=2_000,
        middling=60_000,
        recorded_end=lambda name, stream: 0 if name in chat.FAILS_ITSELF | chat.NO_REASON else chat.finish_of(stream),
        truncated="The stream ended without a finish reason.",
    ),
    "openai-responses": Streamed(
        read=responses.read,
        recorded=responses.recorded,
        fragments=[
            responses.CREATED,
            responses.added(0, responses.reasoning("rs_1", None)),
            responses.summed(0, "th"),
            responses.done(0, responses.reasoning("rs_1", "E1", "think")),
            responses.said(1, "é🌍\u2028 nul \x00"),
            responses.said(1, "x").replace(b"\n", b"\r\n"),
            responses.done(1, responses.message("é🌍\u2028 nul \x00x")),
            responses.done(2, responses.call("a", '{"x":1}', id="fc_a")),
            responses.argued(3, "{}"),
            responses.done(4, {"id": "ws_1", "type": "web_search_call", "action": {}}),
            b": comment\r\n\r\n",
        ],
        end=responses.END,
        needed=responses.END,
        small=3_100,
        middling=60_000,
        recorded_end=lambda name, stream: 0 if name in responses.FAILS_ITSELF else stream.rindex(b"response.completed"),
        truncated="The stream ended without its terminal event.",
    ),
}
