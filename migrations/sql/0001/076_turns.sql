-- One turn by number or id, or a page of turns behind p_after, all of them or those that follow one.
CREATE FUNCTION ledger.turns_v1(p_tenant uuid, p_session uuid, p_number bigint, p_turn_id uuid, p_follows bigint, p_after bigint, p_max int)
RETURNS TABLE (number bigint, turn_id uuid, status text, follows bigint, retry_of bigint, input_seq bigint, first_seq bigint,
               last_seq bigint, options text, error text, pending text, usage text, claims bigint, created_at timestamptz,
               settled_at timestamptz)
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT t.number, t.turn_id, t.status, t.follows, t.retry_of, t.input_seq, t.first_seq, t.last_seq, t.options::text, t.error::text,
         t.pending::text, t.usage::text, t.claims, t.created_at, t.settled_at
    FROM ledger.turns t
   WHERE t.tenant_id = p_tenant AND t.session_id = p_session
     AND (p_number IS NULL OR t.number = p_number)
     AND (p_turn_id IS NULL OR t.turn_id = p_turn_id)
     AND (p_follows IS NULL OR t.follows = p_follows)
     AND t.number > p_after
   ORDER BY t.number LIMIT p_max;
END $$;
GRANT EXECUTE ON FUNCTION ledger.turns_v1 TO ledger_app, ledger_reader;
