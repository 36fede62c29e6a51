-- What a compile reads, as of a head: one row 'h' (seq: the head, message_index: how many messages the ledger holds up to it, document: the
-- session's row), a row 'c' (the entry of the checkpoint that the line names), rows 's' (the latest of each settings kind that is asked for),
-- then messages 'm' and folds 'f' of the line behind what the checkpoint covers, by seq. p_line: another line instead of the session's.
-- Costs the window, not the history: bounds come from the line. p_after: only the messages and folds behind it (a further page); a page
-- that is full has to be followed by the next. The columns of an entry come first and in the order of its fields, so that a reader takes
-- them as they stand. A head that a fork shares is read from the session that holds it. The pieces are read in their order, each by its
-- index: a LATERAL with a LIMIT runs once for each, so that nothing is sorted and a full page ends the reading.
CREATE OR REPLACE FUNCTION ledger.window_v2(
  p_tenant uuid, p_session uuid, p_at_seq bigint, p_line text, p_settings text[], p_max int, p_after bigint)
RETURNS TABLE (seq bigint, kind text, version smallint, turn bigint, message_index bigint, agent text, invocation int, tokens int,
               hidden boolean, include_in_context boolean, attributes text, payload text, payload_digest bytea, digest bytea,
               at timestamptz, recorded_at timestamptz, blobs text, part text, document text, line text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_head  bigint;
  v_fork  bigint;                         -- where a fork left its parent
  v_owner uuid := p_session;              -- who holds the head
  v_line  text;
  v_count bigint;
  v_mark  json;                           -- what of the line a checkpoint covers
  v_from  bigint := coalesce(p_after, 0) + 1;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  SELECT s.head_seq, s.parent_seq, s.line, s.message_count, CASE WHEN p_after IS NULL THEN ledger.session_document(s) END
    INTO v_head, v_fork, v_line, v_count, document
    FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF p_at_seq < v_head THEN
    v_head := p_at_seq;
    IF v_head <= v_fork THEN
      v_owner := ledger.owner_of(p_tenant, p_session, v_head);
    END IF;
    v_line := ledger.line_v1(p_tenant, p_session, v_head);
    IF p_after IS NULL THEN
      SELECT e.message_index + 1 INTO v_count FROM ledger.entries e
       WHERE e.tenant_id = p_tenant AND e.session_id = v_owner AND e.seq <= v_head AND e.message_index IS NOT NULL
       ORDER BY e.seq DESC LIMIT 1;
      IF NOT FOUND THEN
        v_count := coalesce((SELECT f.message_count FROM ledger.forks f WHERE f.tenant_id = p_tenant AND f.session_id = v_owner), 0);
      END IF;
    END IF;
  END IF;
  v_line := coalesce(p_line, v_line);
  IF v_line LIKE '%{%' THEN
    v_mark := (SELECT m.mark FROM json_array_elements(v_line::json) AS m(mark) WHERE json_typeof(m.mark) = 'object');
    v_from := greatest(v_from, (v_mark ->> 'through')::bigint + 1);
  END IF;
  IF p_after IS NULL THEN
    part := 'h';
    seq := v_head;
    message_index := v_count;
    line := v_line;
    RETURN NEXT;
    IF v_fork IS NOT NULL THEN           -- first, because its own take their place
      RETURN QUERY
      SELECT b.seq, b.kind, b.version, b.turn, b.message_index, b.agent, b.invocation, b.tokens, b.hidden, b.include_in_context,
             b.attributes, b.payload, b.payload_digest, b.digest, b.at, b.recorded_at, b.blobs, 's', NULL::text, NULL::text
        FROM ledger.born_settings(p_tenant, v_owner, p_settings) b;
    END IF;
    RETURN QUERY
    SELECT x.*, 's', NULL::text, NULL::text
      FROM unnest(p_settings) AS w(kind)
     CROSS JOIN LATERAL (
       SELECT e.seq, e.kind, e.version, e.turn, e.message_index, e.agent, e.invocation, e.tokens, e.hidden, e.include_in_context,
              e.attributes::text, e.payload::text, e.payload_digest, e.digest, e.at, e.recorded_at, e.blobs
         FROM ledger.entries e
        WHERE e.tenant_id = p_tenant AND e.session_id = v_owner AND e.family = 's' AND e.kind = w.kind AND e.seq <= v_head
        ORDER BY e.seq DESC LIMIT 1) x;
    IF v_mark IS NOT NULL THEN
      RETURN QUERY
      SELECT e.seq, e.kind, e.version, e.turn, e.message_index, e.agent, e.invocation, e.tokens, e.hidden, e.include_in_context,
             e.attributes::text, e.payload::text, e.payload_digest, e.digest, e.at, e.recorded_at, e.blobs, 'c', NULL::text, NULL::text
        FROM ledger.entries e
       WHERE e.tenant_id = p_tenant AND e.session_id = coalesce((v_mark ->> 'session')::uuid, p_session) AND e.seq = (v_mark ->> 'seq')::bigint;
    END IF;
  END IF;
  RETURN QUERY
  SELECT x.*, NULL::text, NULL::text
    FROM ledger.pieces(v_line, p_session, v_head) AS p
   CROSS JOIN LATERAL (
     SELECT e.seq, e.kind, e.version, e.turn, e.message_index, e.agent, e.invocation, e.tokens, e.hidden, e.include_in_context,
            e.attributes::text, e.payload::text, e.payload_digest, e.digest, e.at, e.recorded_at, e.blobs, e.family
       FROM ledger.entries e
      WHERE e.tenant_id = p_tenant AND e.session_id = p.session_id AND e.family IN ('m', 'f')
        AND e.seq >= greatest(p.from_seq, v_from) AND e.seq <= p.through_seq
      ORDER BY e.seq LIMIT p_max) x
   WHERE p.through_seq >= v_from
   LIMIT p_max;
END $$;
GRANT EXECUTE ON FUNCTION ledger.window_v2 TO ledger_app, ledger_reader;
