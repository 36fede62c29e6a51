-- Entries of settings and fold kinds, as entries_v1 with those kinds gives them: by the indexes that hold settings and folds alone, so that
-- the few of a long session are not looked for among all that was said in it. A kind is of one family: the probe for the other finds
-- nothing. Bounds are exclusive but for p_at_seq.
CREATE FUNCTION ledger.kind_entries_v1(
  p_tenant uuid, p_session uuid, p_line text, p_kinds text[], p_after bigint, p_before bigint, p_at_seq bigint, p_hidden boolean,
  p_descending boolean, p_max int)
RETURNS SETOF ledger.entry_rows LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_last bigint := least(p_before - 1, p_at_seq, 9223372036854775807);
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  IF p_descending THEN
    RETURN QUERY
    SELECT x.* FROM ledger.pieces(coalesce(p_line, ledger.whole_line(p_tenant, p_session)), p_session, v_last) AS p
     CROSS JOIN (SELECT DISTINCT k.kind FROM unnest(p_kinds) AS k(kind)) AS w
     CROSS JOIN LATERAL (
       (SELECT e.* FROM ledger.entry_rows e
         WHERE e.tenant_id = p_tenant AND e.session_id = p.session_id AND e.family = 's' AND e.kind = w.kind
           AND e.seq >= p.from_seq AND e.seq > p_after AND e.seq <= p.through_seq AND (p_hidden OR NOT e.hidden)
         ORDER BY e.seq DESC LIMIT p_max)
       UNION ALL
       (SELECT e.* FROM ledger.entry_rows e
         WHERE e.tenant_id = p_tenant AND e.session_id = p.session_id AND e.family = 'f' AND e.kind = w.kind
           AND e.seq >= p.from_seq AND e.seq > p_after AND e.seq <= p.through_seq AND (p_hidden OR NOT e.hidden)
         ORDER BY e.seq DESC LIMIT p_max)) x
     ORDER BY x.seq DESC LIMIT p_max;
  ELSE
    RETURN QUERY
    SELECT x.* FROM ledger.pieces(coalesce(p_line, ledger.whole_line(p_tenant, p_session)), p_session, v_last) AS p
     CROSS JOIN (SELECT DISTINCT k.kind FROM unnest(p_kinds) AS k(kind)) AS w
     CROSS JOIN LATERAL (
       (SELECT e.* FROM ledger.entry_rows e
         WHERE e.tenant_id = p_tenant AND e.session_id = p.session_id AND e.family = 's' AND e.kind = w.kind
           AND e.seq >= p.from_seq AND e.seq > p_after AND e.seq <= p.through_seq AND (p_hidden OR NOT e.hidden)
         ORDER BY e.seq LIMIT p_max)
       UNION ALL
       (SELECT e.* FROM ledger.entry_rows e
         WHERE e.tenant_id = p_tenant AND e.session_id = p.session_id AND e.family = 'f' AND e.kind = w.kind
           AND e.seq >= p.from_seq AND e.seq > p_after AND e.seq <= p.through_seq AND (p_hidden OR NOT e.hidden)
         ORDER BY e.seq LIMIT p_max)) x
     ORDER BY x.seq LIMIT p_max;
  END IF;
END $$;
GRANT EXECUTE ON FUNCTION ledger.kind_entries_v1 TO ledger_app, ledger_reader;
