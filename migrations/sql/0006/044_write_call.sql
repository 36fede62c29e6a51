-- Opens or changes a model call; gives the usage that is new with it, for the session's totals, which are of main calls alone. Part of append_v1.
CREATE OR REPLACE FUNCTION ledger.write_call(
  p_tenant uuid, p_session uuid, p_turn bigint, p_row json, p_documents text[], p_first_seq bigint, p_now timestamptz)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_call   uuid := (p_row ->> 'call_id')::uuid;
  v_answer bigint := p_first_seq + (p_row ->> 'answer_offset')::bigint;
  v_known  boolean;
  v_main   boolean;
BEGIN
  IF coalesce((p_row ->> 'new')::boolean, false) THEN
    INSERT INTO ledger.calls (tenant_id, session_id, call_id, turn, head_seq, answer_seq, step_index, created_at, purpose, status,
                              record, attempts, usage)
    VALUES (p_tenant, p_session, v_call, p_turn, coalesce((p_row ->> 'head_seq')::bigint, p_first_seq - 1), v_answer,
            (p_row ->> 'step_index')::int, p_now, p_row ->> 'purpose', p_row ->> 'status', p_documents[11]::json,
            p_documents[12]::json, p_documents[13]::json);
    RETURN CASE WHEN p_row ->> 'purpose' = 'main' THEN p_documents[13]::json END;
  END IF;
  SELECT c.usage IS NOT NULL, c.purpose = 'main' INTO v_known, v_main
    FROM ledger.calls c WHERE c.tenant_id = p_tenant AND c.session_id = p_session AND c.call_id = v_call;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the append changes a call that is not there' USING ERRCODE = 'LG005';
  END IF;
  UPDATE ledger.calls c
     SET status = coalesce(p_row ->> 'status', c.status),
         answer_seq = coalesce(v_answer, c.answer_seq),
         record = coalesce(p_documents[11]::json, c.record),
         attempts = coalesce(p_documents[12]::json, c.attempts),
         usage = coalesce(p_documents[13]::json, c.usage)
   WHERE c.tenant_id = p_tenant AND c.session_id = p_session AND c.call_id = v_call;
  RETURN CASE WHEN v_main AND NOT v_known THEN p_documents[13]::json END;
END $$;
