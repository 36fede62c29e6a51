-- One link of the chain: all of an entry that an erasure leaves, and its payload by digest, so that the chain verifies after one.
-- Numbers have fixed widths (no turn is 0 and no message index -1, which no entry has); what may be missing stands last, each behind a
-- zero byte, which no text holds, and its letter. So no two entries have the same bytes.
CREATE FUNCTION ledger.link_digest(
  p_prev bytea, p_seq bigint, p_kind text, p_family text, p_version int, p_turn bigint, p_message_index bigint, p_agent text,
  p_invocation int, p_tokens int, p_hidden boolean, p_include boolean, p_at timestamptz, p_recorded_at timestamptz, p_line text,
  p_blobs text, p_payload_digest bytea)
RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_catalog.sha256(
  p_prev || pg_catalog.int8send(p_seq) || pg_catalog.int4send(p_version) || pg_catalog.int8send(coalesce(p_turn, 0))
  || pg_catalog.int8send(coalesce(p_message_index, -1)) || pg_catalog.int4send(p_invocation) || pg_catalog.int4send(p_tokens)
  || pg_catalog.boolsend(p_hidden) || pg_catalog.boolsend(p_include) || pg_catalog.timestamptz_send(p_recorded_at) || p_payload_digest
  || pg_catalog.convert_to(p_family || p_kind, 'UTF8')
  || CASE WHEN p_at IS NULL THEN ''::bytea ELSE '\x0074'::bytea || pg_catalog.timestamptz_send(p_at) END
  || CASE WHEN p_agent IS NULL THEN ''::bytea ELSE '\x0061'::bytea || pg_catalog.convert_to(p_agent, 'UTF8') END
  || CASE WHEN p_line IS NULL THEN ''::bytea ELSE '\x006c'::bytea || pg_catalog.convert_to(p_line, 'UTF8') END
  || CASE WHEN p_blobs IS NULL THEN ''::bytea ELSE '\x0062'::bytea || pg_catalog.convert_to(p_blobs, 'UTF8') END);
GRANT EXECUTE ON FUNCTION ledger.link_digest TO ledger_app, ledger_reader;
