-- Folds of one kind with the lines that they set, of a session's whole ledger: its own and, up to where it left them, its ancestors'.
-- p_checkpoint: only those whose line is led by that checkpoint. Bounds are exclusive but for p_at_seq. Costs the folds of that kind alone.
CREATE FUNCTION ledger.folds_v1(
  p_tenant uuid, p_session uuid, p_kind text, p_checkpoint text, p_after bigint, p_at_seq bigint, p_descending boolean, p_max int)
RETURNS SETOF ledger.entry_rows LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_session uuid   := p_session;
  v_last    bigint := coalesce(p_at_seq, 9223372036854775807);
  v_ids     uuid[];
  v_lasts   bigint[];
  v_parent  record;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  WHILE v_session IS NOT NULL LOOP
    v_ids := v_ids || v_session;
    v_lasts := v_lasts || v_last;
    SELECT s.parent_session, s.parent_seq INTO v_parent FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = v_session;
    v_session := v_parent.parent_session;
    v_last := least(v_last, v_parent.parent_seq);
  END LOOP;
  IF p_descending THEN
    RETURN QUERY
    SELECT x.* FROM unnest(v_ids, v_lasts) AS a(session_id, last_seq)
     CROSS JOIN LATERAL (
       SELECT e.* FROM ledger.entry_rows e
        WHERE e.tenant_id = p_tenant AND e.session_id = a.session_id AND e.family = 'f' AND e.kind = p_kind
          AND e.seq > p_after AND e.seq <= a.last_seq
          AND (p_checkpoint IS NULL OR e.line::json -> -1 ->> 'checkpoint' = p_checkpoint)
        ORDER BY e.seq DESC LIMIT p_max) x
     ORDER BY x.seq DESC LIMIT p_max;
  ELSE
    RETURN QUERY
    SELECT x.* FROM unnest(v_ids, v_lasts) AS a(session_id, last_seq)
     CROSS JOIN LATERAL (
       SELECT e.* FROM ledger.entry_rows e
        WHERE e.tenant_id = p_tenant AND e.session_id = a.session_id AND e.family = 'f' AND e.kind = p_kind
          AND e.seq > p_after AND e.seq <= a.last_seq
          AND (p_checkpoint IS NULL OR e.line::json -> -1 ->> 'checkpoint' = p_checkpoint)
        ORDER BY e.seq LIMIT p_max) x
     ORDER BY x.seq LIMIT p_max;
  END IF;
END $$;
GRANT EXECUTE ON FUNCTION ledger.folds_v1 TO ledger_app, ledger_reader;
