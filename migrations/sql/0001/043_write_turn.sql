-- Opens or changes a turn; null leaves a column as it is. Documents: options, error, pending, usage.
-- Part of append_v1, under the session's lock.
CREATE FUNCTION ledger.write_turn(
  p_tenant uuid, p_session uuid, p_number bigint, p_row json, p_documents text[], p_first_seq bigint, p_last_seq bigint,
  p_now timestamptz)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_new       boolean := coalesce((p_row ->> 'new')::boolean, false);
  v_settled   boolean := coalesce((p_row ->> 'settled')::boolean, false);
  v_input_seq bigint := coalesce((p_row ->> 'input_seq')::bigint, p_first_seq + (p_row ->> 'input_offset')::bigint);
BEGIN
  IF v_new THEN
    INSERT INTO ledger.turns (tenant_id, session_id, number, turn_id, follows, retry_of, input_seq, first_seq, last_seq,
                              created_at, settled_at, status, options, error, pending, usage)
    VALUES (p_tenant, p_session, p_number, (p_row ->> 'turn_id')::uuid, coalesce((p_row ->> 'follows')::bigint, 0),
            (p_row ->> 'retry_of')::bigint, v_input_seq, p_first_seq, CASE WHEN v_settled THEN p_last_seq END,
            p_now, CASE WHEN v_settled THEN p_now END, p_row ->> 'status', p_documents[1]::json, p_documents[2]::json,
            p_documents[3]::json, p_documents[4]::json);
    RETURN;
  END IF;
  UPDATE ledger.turns t
     SET status = coalesce(p_row ->> 'status', t.status),
         input_seq = coalesce(v_input_seq, t.input_seq),
         options = coalesce(p_documents[1]::json, t.options),
         error = coalesce(p_documents[2]::json, t.error),
         pending = coalesce(p_documents[3]::json, t.pending),
         usage = coalesce(p_documents[4]::json, t.usage),
         last_seq = CASE WHEN v_settled THEN coalesce(t.last_seq, p_last_seq) ELSE t.last_seq END,
         settled_at = CASE WHEN v_settled THEN coalesce(t.settled_at, p_now) ELSE t.settled_at END
   WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.number = p_number;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the append changes a turn that is not there' USING ERRCODE = 'LG005';
  END IF;
END $$;
