-- One page of the walk along the chain, from where the page before ended: at most p_max entries behind p_after, whose digest was p_prev
-- and which p_messages messages had preceded. It ends early where the blobs that its entries name are large. Of a fork, each session of its
-- ancestry is walked in turn; what it shares may name blobs that lie further up.
CREATE FUNCTION ledger.verify_v1(
  p_tenant uuid, p_session uuid, p_after bigint, p_head bigint, p_prev bytea, p_messages bigint, p_max int,
  OUT last_seq bigint, OUT last_digest bytea, OUT messages bigint, OUT problem_seqs bigint[], OUT problems text[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_entry ledger.entries%ROWTYPE;
  v_what  text;
  v_bytes bigint := 0;
  v_all   uuid[];                         -- who may hold a blob
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
      WHEN v_entry.message_index IS DISTINCT FROM CASE WHEN v_entry.family = 'm' THEN messages END THEN 'message-index'
      WHEN CASE WHEN v_entry.erased_at IS NOT NULL THEN num_nonnulls(v_entry.salt, v_entry.payload, v_entry.attributes) > 0
                ELSE v_entry.payload_digest IS DISTINCT FROM ledger.payload_digest(
                       v_entry.salt, v_entry.payload::text, v_entry.attributes::text) END THEN 'payload'
      WHEN v_entry.digest IS DISTINCT FROM ledger.link_digest(
             last_digest, v_entry.seq, v_entry.kind, v_entry.family, v_entry.version, v_entry.turn, v_entry.message_index, v_entry.agent,
             v_entry.invocation, v_entry.tokens, v_entry.hidden, v_entry.include_in_context, v_entry.at, v_entry.recorded_at,
             v_entry.line, v_entry.blobs, v_entry.payload_digest) THEN 'digest'
    END;
    IF v_what IS NULL AND v_entry.blobs IS NOT NULL THEN
      IF v_all IS NULL THEN
        v_all := ARRAY(SELECT p.session_id FROM ledger.pieces(ledger.whole_line(p_tenant, p_session), p_session, p_head) AS p);
      END IF;
      SELECT v_bytes + coalesce(sum(b.byte_length), 0),
             CASE WHEN count(*) FILTER (WHERE b.erased_at IS NOT NULL OR sha256(b.body) = b.digest) < count(*) THEN 'blob' END
        INTO v_bytes, v_what
        FROM string_to_table(v_entry.blobs, ' ') AS w(name)
        LEFT JOIN LATERAL (
          SELECT b.erased_at, b.body, b.digest, b.byte_length FROM ledger.blobs b
           WHERE b.tenant_id = p_tenant AND b.session_id = ANY (v_all) AND b.digest = decode(substr(w.name, length('sha256:') + 1), 'hex')
           ORDER BY b.session_id = p_session DESC LIMIT 1) b ON true;
    END IF;
    IF v_what IS NOT NULL THEN
      problem_seqs := problem_seqs || v_entry.seq;
      problems := problems || v_what;
    END IF;
    last_seq := v_entry.seq;
    last_digest := v_entry.digest;
    messages := messages + (v_entry.family = 'm')::int;
    EXIT WHEN v_bytes > 67108864;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.verify_v1 TO ledger_app, ledger_reader;
