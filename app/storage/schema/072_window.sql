-- What a compile reads, as of a head: one row 'h' (the head; its document is the session's row), rows 's' (the latest of each settings
-- kind that is asked for), then messages 'm' and folds 'f' of the line by seq. Costs the window, not the history: bounds come from
-- the line. p_after: only the messages and folds behind it (a further page); a page that is full has to be followed by the next.
CREATE FUNCTION ledger.window_v1(p_tenant uuid, p_session uuid, p_at_seq bigint, p_settings text[], p_max int, p_after bigint)
RETURNS TABLE (part text, document text, seq bigint, kind text, version smallint, turn bigint, message_index bigint, agent text,
               invocation int, tokens int, hidden boolean, include_in_context boolean, attributes text, payload text,
               payload_digest bytea, digest bytea, at timestamptz, recorded_at timestamptz, blobs text, line text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_session ledger.sessions%ROWTYPE;
  v_head    bigint;
  v_line    text;
  v_count   bigint;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  SELECT s.* INTO v_session FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  v_head := v_session.head_seq;
  v_line := v_session.line;
  v_count := v_session.message_count;
  IF p_at_seq < v_head THEN
    v_head := p_at_seq;
    v_line := ledger.line_v1(p_tenant, p_session, v_head);
    IF p_after IS NULL THEN
      SELECT e.message_index + 1 INTO v_count FROM ledger.entries e
       WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.seq <= v_head AND e.message_index IS NOT NULL
       ORDER BY e.seq DESC LIMIT 1;
      v_count := coalesce(v_count, 0);
    END IF;
  END IF;
  IF p_after IS NULL THEN
    part := 'h';
    document := ledger.session_document(v_session);
    seq := v_head;
    message_index := v_count;
    line := v_line;
    RETURN NEXT;
    RETURN QUERY
    SELECT 's', NULL::text, x.*
      FROM unnest(p_settings) AS w(kind)
     CROSS JOIN LATERAL (
       SELECT e.seq, e.kind, e.version, e.turn, e.message_index, e.agent, e.invocation, e.tokens, e.hidden, e.include_in_context,
              e.attributes::text, e.payload::text, e.payload_digest, e.digest, e.at, e.recorded_at, e.blobs, e.line
         FROM ledger.entries e
        WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.family = 's' AND e.kind = w.kind AND e.seq <= v_head
        ORDER BY e.seq DESC LIMIT 1) x;
  END IF;
  RETURN QUERY
  SELECT x.family, NULL::text, x.seq, x.kind, x.version, x.turn, x.message_index, x.agent, x.invocation, x.tokens, x.hidden,
         x.include_in_context, x.attributes::text, x.payload::text, x.payload_digest, x.digest, x.at, x.recorded_at, x.blobs, x.line
    FROM ledger.pieces(v_line, p_session, v_head) AS p
   CROSS JOIN LATERAL (
     SELECT e.* FROM ledger.entries e
      WHERE e.tenant_id = p_tenant AND e.session_id = p.session_id AND e.family IN ('m', 'f')
        AND e.seq >= p.from_seq AND e.seq > coalesce(p_after, 0) AND e.seq <= p.through_seq
      ORDER BY e.seq LIMIT p_max) x
   ORDER BY x.seq LIMIT p_max;
END $$;
GRANT EXECUTE ON FUNCTION ledger.window_v1 TO ledger_app, ledger_reader;
