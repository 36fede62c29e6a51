-- One link of the chain: all of an entry that an erasure leaves, and its payload by digest, so that the chain verifies after one.
-- Numbers have fixed widths (null is 0, for a message index -1, for a time -infinity); the one text stands last.
CREATE FUNCTION ledger.link_digest(
  p_prev bytea, p_seq bigint, p_kind text, p_family text, p_version int, p_turn bigint, p_message_index bigint, p_agent text,
  p_invocation int, p_tokens int, p_hidden boolean, p_include boolean, p_at timestamptz, p_recorded_at timestamptz, p_payload_digest bytea)
RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_catalog.sha256(
  p_prev || pg_catalog.int8send(p_seq) || pg_catalog.int4send(p_version) || pg_catalog.int8send(coalesce(p_turn, 0))
  || pg_catalog.int8send(coalesce(p_message_index, -1)) || pg_catalog.int4send(p_invocation) || pg_catalog.int4send(p_tokens)
  || pg_catalog.boolsend(p_hidden) || pg_catalog.boolsend(p_include)
  || pg_catalog.timestamptz_send(coalesce(p_at, '-infinity')) || pg_catalog.timestamptz_send(p_recorded_at) || p_payload_digest
  || pg_catalog.convert_to(p_family || p_kind || ' ' || coalesce(p_agent, ''), 'UTF8'));
GRANT EXECUTE ON FUNCTION ledger.link_digest TO ledger_app, ledger_reader;
