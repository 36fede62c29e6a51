-- The newest main call that was dispatched at p_head or before; calls are made in the order of their ids.
CREATE FUNCTION ledger.last_call_v1(p_tenant uuid, p_session uuid, p_head bigint)
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
     AND c.purpose = 'main' AND c.status <> 'refused' AND c.head_seq <= p_head
   ORDER BY c.call_id DESC LIMIT 1;
END $$;
GRANT EXECUTE ON FUNCTION ledger.last_call_v1 TO ledger_app, ledger_reader;
