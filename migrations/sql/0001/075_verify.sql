-- One page of the walk along the chain, from where the page before ended: at most p_max entries behind p_after, whose digest was p_prev
-- and which p_messages messages had preceded.
CREATE FUNCTION ledger.verify_v1(
  p_tenant uuid, p_session uuid, p_after bigint, p_head bigint, p_prev bytea, p_messages bigint, p_max int,
  OUT last_seq bigint, OUT last_digest bytea, OUT messages bigint, OUT problem_seqs bigint[], OUT problems text[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_entry ledger.entries%ROWTYPE;
  v_what  text;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  last_digest := p_prev;
  messages := p_messages;
  problem_seqs := '{}';
  problems := '{}';
  FOR v_entry IN
    SELECT e.* FROM ledger.entries e
     WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.seq > p_after AND e.seq <= p_head
     ORDER BY e.seq LIMIT p_max
  LOOP
    v_what := CASE
      WHEN v_entry.seq <> coalesce(last_seq, p_after) + 1 THEN 'gap'
      WHEN v_entry.family = 'm' AND v_entry.message_index <> messages THEN 'message-index'
      WHEN v_entry.erased_at IS NULL AND v_entry.payload_digest <> ledger.payload_digest(
             v_entry.salt, v_entry.payload::text, v_entry.attributes::text, v_entry.line, v_entry.blobs) THEN 'payload'
      WHEN v_entry.digest <> ledger.link_digest(
             last_digest, v_entry.seq, v_entry.kind, v_entry.family, v_entry.version, v_entry.turn, v_entry.message_index, v_entry.agent,
             v_entry.invocation, v_entry.tokens, v_entry.hidden, v_entry.include_in_context, v_entry.at, v_entry.recorded_at,
             v_entry.payload_digest) THEN 'digest'
    END;
    IF v_what IS NOT NULL THEN
      problem_seqs := problem_seqs || v_entry.seq;
      problems := problems || v_what;
    END IF;
    last_seq := v_entry.seq;
    last_digest := v_entry.digest;
    messages := messages + (v_entry.family = 'm')::int;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.verify_v1 TO ledger_app, ledger_reader;
