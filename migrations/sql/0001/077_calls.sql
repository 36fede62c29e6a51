-- One call by id, or a page of calls behind p_after, of a session or of one of its turns.
CREATE FUNCTION ledger.calls_v1(p_tenant uuid, p_session uuid, p_call uuid, p_turn bigint, p_after uuid, p_max int)
RETURNS TABLE (call_id uuid, turn bigint, step_index int, purpose text, status text, head_seq bigint, record text, attempts text,
               usage text, answer_seq bigint, created_at timestamptz)
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT c.call_id, c.turn, c.step_index, c.purpose, c.status, c.head_seq, c.record::text, c.attempts::text, c.usage::text, c.answer_seq,
         c.created_at
    FROM ledger.calls c
   WHERE c.tenant_id = p_tenant AND c.session_id = p_session
     AND (p_call IS NULL OR c.call_id = p_call)
     AND (p_turn IS NULL OR c.turn = p_turn)
     AND (p_after IS NULL OR c.call_id > p_after)
   ORDER BY c.call_id LIMIT p_max;
END $$;
GRANT EXECUTE ON FUNCTION ledger.calls_v1 TO ledger_app, ledger_reader;
