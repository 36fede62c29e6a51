"""What bounds bodies, lists, loops, queues and waits. The README's table of limits is made from this file; units stand last in the names."""

from typing import Final

BODY_BYTES_MAX: Final = 32 * 2**20
"""One request body."""

ENTRIES_PER_APPEND_MAX: Final = 256
"""Entries in one append."""

BLOB_BYTES_MAX: Final = 20 * 2**20
"""One blob."""

ATTRIBUTES_BYTES_MAX: Final = 64 * 2**10
"""The attributes of one entry, as JSON."""

STATE_BYTES_MAX: Final = 64 * 2**10
"""The state of one session, as JSON."""

USER_STATE_BYTES_MAX: Final = 32 * 2**10
"""Of it, the scope that the sessions of one user share: it comes into each of them beside what that session has of its own."""

CHANGED_POINTERS_CHARS_MAX: Final = 8 * 2**10
"""Pointers to what a change of the state touched; beyond that they name whole objects."""

METADATA_BYTES_MAX: Final = 16 * 2**10
"""The metadata of one session, as JSON."""

JSON_DEPTH_MAX: Final = 64
"""Nesting of a JSON body."""

SCHEMA_BYTES_MAX: Final = 64 * 2**10
"""One JSON Schema that a client sends (tool parameters, state schema); references in it are local."""

FAULTS_MAX: Final = 100
"""Faults listed in one answer to an invalid request."""

TEXT_INLINE_BYTES_MAX: Final = 32 * 2**10
"""A text kept inside its entry; longer ones are blobs."""

PAYLOAD_INLINE_BYTES_MAX: Final = 60 * 2**10
"""The payload of one entry; above it the largest texts move to blobs."""

LIST_LIMIT_MAX: Final = 1_000
"""Rows in one page of a list."""

LIST_LIMIT_DEFAULT: Final = 100
"""Rows in one page of a list when the client does not say."""

WINDOW_MESSAGES_MAX: Final = 100_000
"""Messages of one window; a longer one is an error, never cut."""

WINDOW_PAGE_ENTRIES: Final = 1_000
"""Entries read at once when a long window or export is paged."""

IDENTIFIER_CHARS_MAX: Final = 255
"""An external id, a user, an idempotency key, a request id."""

TITLE_CHARS_MAX: Final = 500
"""The title of a session."""

AGENT_BYTES_MAX: Final = 1 * 2**20
"""One agent document."""

AGENT_NAME_CHARS_MAX: Final = 64
"""The name of an agent, an upstream or a tool."""

RENDERERS_MAX: Final = 64
"""Renderers of one agent."""

TOOLS_MAX: Final = 512
"""Tools of one agent."""

PARTS_PER_MESSAGE_MAX: Final = 1_024
"""Parts of one message."""

STEPS_PER_TURN_MAX: Final = 100
"""Model calls of one turn, whatever the agent's document asks for."""

MOVES_PER_TURN_MAX: Final = 10_000
"""Moves of one turn: the loop stops there even if its rules were wrong."""

REASON_CHARS_MAX: Final = 2_000
"""The reason that somebody gives for a decision."""

TOOL_CALLS_PER_ANSWER_MAX: Final = 128
"""Tool calls in one answer of a model."""

SSE_EVENT_BYTES_MAX: Final = 8 * 2**20
"""One event of an upstream's stream."""

ANSWER_BYTES_MAX: Final = 64 * 2**20
"""All that one upstream answer may hold."""

USAGE_FRAMES_KEPT_MAX: Final = 8
"""Reports of usage that are kept of one answer as the provider spelled them: the first ones and the last. Some servers send one a word."""

ERROR_BODY_BYTES_MAX: Final = 64 * 2**10
"""What is read of an upstream's error body."""

HEADER_BYTES_MAX: Final = 32 * 2**10
"""Headers of one upstream answer."""

COUNT_SECONDS_MAX: Final = 10
"""One count of a request's tokens by its provider; the estimate stands after that."""

SUMMARY_SECONDS_MAX: Final = 120
"""One summary, with all attempts at it."""

COMPACTION_PIECES_MAX: Final = 32
"""Summaries before one call, where a summarizer with a small window takes a long conversation piece by piece."""

SUMMARY_OUTPUT_TOKENS_MAX: Final = 4_096
"""What a model is asked for at most when it summarises; a model with a smaller maximum is asked for that."""

INSTRUCTIONS_CHARS_MAX: Final = 4_000
"""What somebody asks for beside the instructions that each summary is written by."""

HOOK_SECONDS_MAX: Final = 2
"""One hook of a package, asked or told of a compaction."""

HOOK_THREADS_MAX: Final = 4
"""Hooks of packages that are asked or told at once."""

HEADERS_PER_UPSTREAM_MAX: Final = 64
"""Headers that the operator sets for one upstream."""

UPSTREAMS_MAX: Final = 256
"""Configured upstreams."""

MODELS_PER_UPSTREAM_MAX: Final = 1_024
"""Models described for one upstream."""

MODELS_LISTED_MAX: Final = 4_096
"""Models that are read off one provider's own list."""

MODEL_LIST_BYTES_MAX: Final = 8 * 2**20
"""One provider's list of its models."""

MODEL_LIST_SECONDS_MAX: Final = 10
"""Wait at the start for all lists of models; what has not come by then is done without."""

RETRY_AFTER_SECONDS_MAX: Final = 60
"""A longer Retry-After than this ends the retries at once."""

RETRY_WAIT_SECONDS_MAX: Final = 20
"""Wait between two attempts when the upstream does not say."""

SCRIPT_STEPS_MAX: Final = 1_000
"""Steps of one script of the built-in upstream."""

SCRIPT_DELAY_MS_MAX: Final = 60_000
"""Delay between two pieces of a scripted answer."""

FLUSH_ROWS_MAX: Final = 2_000
"""Delta rows written by one statement."""

POLL_MS: Final = 250
"""Between two looks at the delta log when no notification comes."""

CLAIMS_PER_RENEWAL_MAX: Final = 5_000
"""Claims renewed by one statement."""

RECOVERIES_PER_SWEEP_MAX: Final = 100
"""Expired claims settled by one sweep."""

PURGE_ROWS_MAX: Final = 10_000
"""Rows deleted by one purge statement; events a whole turn at a time, so that the last turn may pass it."""

IMPORT_LINE_BYTES_MAX: Final = 32 * 2**20
"""One line of an imported file."""

IMPORT_SESSIONS_MAX: Final = 10_000
"""Sessions in one import."""

STATEMENT_SECONDS_MAX: Final = 30
"""One statement of the database."""

POOL_WAIT_SECONDS_MAX: Final = 10
"""Wait for a free database connection before the request is refused with 503."""

APPENDS_PER_GROUP_MAX: Final = 64
"""Appends that go to the database in one statement; together they have at most the entries that one append may have."""

APPEND_GROUPS_MAX: Final = 2
"""Such statements that one tenant has under way in a process before its appends wait: the database works on one while the next is collected."""

APPENDS_WAITING_MAX: Final = 10_000
"""Appends of one tenant that wait in a process; one more is refused with 503."""

TOKENS_ON_LOOP_CHARS_MAX: Final = 16 * 2**10
"""Characters whose tokens are counted on the event loop; longer texts are counted beside it."""

COMPILE_ON_LOOP_MESSAGES_MAX: Final = 400
"""Messages that are compiled on the event loop; longer windows are compiled beside it."""

MEDIA_ON_LOOP_BYTES_MAX: Final = 256 * 2**10
"""Bytes of pictures and files that are held against their digests and written into a request on the event loop; more are beside it."""

DELTA_READ_ROWS_MAX: Final = 1_000
"""Rows of the delta log read at once."""

STREAM_MEMORY_BYTES_MAX: Final = 1 * 2**20
"""Events of one running turn kept in memory for those who follow it; older ones are read from the delta log."""

ACCEPT_TRIES_MAX: Final = 8
"""How often a write that lost a race for the head is tried again."""

DATABASE_AWAY_SECONDS_MAX: Final = 300
"""How long a running turn outlasts a database that is away, with an answer that is not written yet."""

STOP_WAIT_SECONDS_MAX: Final = 8
"""How long a newer input waits for the turn that it interrupts."""

CANCEL_WAIT_SECONDS_MAX: Final = 2
"""How long a cancel waits to answer with the settled turn; it answers with the running one after that."""

AGENT_REVISIONS_CACHED_MAX: Final = 1_000
"""Agent revisions kept decoded in one process."""

JSON_ON_LOOP_BYTES_MAX: Final = 256 * 2**10
"""A JSON body parsed on the event loop; a larger one is parsed beside it."""

RESPONSE_BYTES_MAX: Final = 64 * 2**20
"""Entries in one JSON page of raw; the page ends early and says that there is more."""

SEND_SECONDS_MAX: Final = 60
"""Wait for a client that does not read its stream; then it is cut off and may resume."""

KEYS_CACHED_MAX: Final = 10_000
"""API keys remembered by one process."""

KEY_CACHE_SECONDS: Final = 5
"""How long a key is believed without asking the database: a revoked one is refused after that."""

APPEND_TRIES_MAX: Final = 20
"""Tries of a change that was read, merged and found the head moved, before the caller is told."""

RAW_PAGE_ENTRIES: Final = 256
"""Entries in memory at once while all of a ledger is streamed."""

BLOBS_LOADED_MAX: Final = 16
"""Long texts put back into their entries by one read."""

FOLLOW_POLL_MS_MAX: Final = 1_000
"""Between two looks at a quiet session that a client follows live."""

DISK_FREE_BYTES_MIN: Final = 256 * 2**20
"""Free bytes below which `/readyz` says that the disk is full."""

LINES_PAGE_ENTRIES: Final = 1_000
"""Entries that one statement of a long reading spells as lines."""

LINES_RUN_ENTRIES: Final = 100
"""Of them, those that come as one text, and that are read again where one of them names a blob."""

LINES_PAGE_BYTES: Final = 2**20
"""A page of lines ends with the run that passes this."""

SCHEMA_CHECK_MS_MAX: Final = 500
"""One check of a document against a schema that a client sent."""

MEDIA_FETCH_SECONDS_MAX: Final = 10
"""Time for one image or file by URL, redirects included."""

MEDIA_REDIRECTS_MAX: Final = 3
"""Redirects that are followed for one, each judged by the egress guard."""

MEDIA_FETCHES_MAX: Final = 16
"""Images and files by URL that are fetched for one request."""

ERASED_SESSIONS_MAX: Final = 1_000
"""Sessions of a user that one request erases: they are locked together."""

ERASED_PAGE_ENTRIES: Final = 5_000
"""Entries that one statement of an erasure empties, or as many turns, calls and blobs."""

ERASURE_SECONDS: Final = 600
"""An erasure that began longer ago and is not at its end was cut off."""

ERASURES_PER_SWEEP_MAX: Final = 100
"""Erasures that were cut off, ended by one sweep."""

FAMILY_SESSIONS_MAX: Final = 1_000
"""Sessions with one origin that a redaction reaches: they are locked together."""

REDACTION_REASON_CHARS_MAX: Final = 1_000
"""Of the reason that is given for one."""
