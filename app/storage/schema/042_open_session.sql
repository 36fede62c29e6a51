-- The row of a new session, which may be a fork of another; documents as append_v1 numbers them. Part of append_v1.
CREATE FUNCTION ledger.open_session(p_tenant uuid, p_session uuid, p_row json, p_documents text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  INSERT INTO ledger.sessions (tenant_id, session_id, created_at, active_at, active_on, agent_revision, agent_follows,
                               agent, model, title, metadata, user_name, external_id, prefix_key)
  VALUES (p_tenant, p_session, v_now, v_now, (v_now AT TIME ZONE 'UTC')::date, (p_row ->> 'agent_revision')::int,
          (p_row ->> 'agent_follows')::boolean, p_documents[1], p_documents[2]::json, p_documents[3], p_documents[4]::json,
          p_documents[5], p_documents[6], uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the session exists' USING ERRCODE = 'LG011';
  END IF;
  IF p_row ->> 'parent' IS NOT NULL THEN
    PERFORM ledger.open_fork(p_tenant, p_session, (p_row ->> 'parent')::uuid, (p_row ->> 'parent_seq')::bigint);
  END IF;
END $$;
