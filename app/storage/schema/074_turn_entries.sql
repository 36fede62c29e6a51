-- Every entry of a turn. They lie between the turn's bounds, so no index on the turn is needed (and appends need not keep one).
CREATE FUNCTION ledger.turn_entries_v1(p_tenant uuid, p_session uuid, p_turn bigint)
RETURNS SETOF ledger.entry_rows LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_owner uuid := p_session;
  v_first bigint;
  v_last  bigint;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  SELECT t.first_seq, coalesce(t.last_seq, 9223372036854775807) INTO v_first, v_last
    FROM ledger.turns t WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.number = p_turn;
  IF NOT FOUND THEN                       -- it may be one that a fork shares
    SELECT t.session_id, t.first_seq, t.last_seq INTO v_owner, v_first, v_last
      FROM ledger.turns_v2(p_tenant, p_session, p_turn, NULL, NULL, 0, 1) t;
  END IF;
  RETURN QUERY
  SELECT e.* FROM ledger.entry_rows e
   WHERE e.tenant_id = p_tenant AND e.session_id = v_owner AND e.seq BETWEEN v_first AND v_last AND e.turn = p_turn
   ORDER BY e.seq;
END $$;
GRANT EXECUTE ON FUNCTION ledger.turn_entries_v1 TO ledger_app, ledger_reader;
