-- The line that was current when p_seq was the head; null is the plain line. Where a fork shares that seq, it is the line of the session that
-- holds it, with that one's name in it.
CREATE OR REPLACE FUNCTION ledger.line_v1(p_tenant uuid, p_session uuid, p_seq bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  v_line  text;
  v_owner uuid;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  SELECT e.line INTO v_line FROM ledger.entries e
   WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.line IS NOT NULL AND e.seq <= p_seq
   ORDER BY e.seq DESC LIMIT 1;
  IF FOUND THEN
    RETURN v_line;
  END IF;
  v_owner := ledger.owner_of(p_tenant, p_session, p_seq);
  IF v_owner = p_session THEN
    RETURN NULL;
  END IF;
  RETURN ledger.named_line((
    SELECT e.line FROM ledger.entries e
     WHERE e.tenant_id = p_tenant AND e.session_id = v_owner AND e.line IS NOT NULL AND e.seq <= p_seq
     ORDER BY e.seq DESC LIMIT 1), v_owner);
END $$;
GRANT EXECUTE ON FUNCTION ledger.line_v1 TO ledger_app, ledger_reader;

-- A line of a session, readable from another: what is null in it names that session.
CREATE OR REPLACE FUNCTION ledger.named_line(p_line text, p_session uuid) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT json_agg(CASE json_typeof(p.piece)
             WHEN 'array' THEN json_build_array(p.piece -> 0, p.piece -> 1, coalesce(p.piece ->> 2, p_session::text))
             ELSE json_build_object('checkpoint', p.piece -> 'checkpoint', 'seq', p.piece -> 'seq', 'through', p.piece -> 'through',
                                    'session', coalesce(p.piece ->> 'session', p_session::text))
           END ORDER BY p.place)::text
      FROM json_array_elements(coalesce(p_line, '[[1,null,null]]')::json) WITH ORDINALITY AS p(piece, place));
END $$;
GRANT EXECUTE ON FUNCTION ledger.named_line TO ledger_app, ledger_reader;
