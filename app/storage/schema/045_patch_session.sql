-- The session's row with a patch, a call's usage and a dispatch put into it; append_v1 writes the row once, at its end.
CREATE FUNCTION ledger.patch_session(p_session ledger.sessions, p_patch json, p_documents text[], p_call json, p_usage json)
RETURNS ledger.sessions LANGUAGE plpgsql AS $$
BEGIN
  IF p_patch IS NOT NULL THEN
    IF (p_patch ->> 'expected_meta')::bigint <> p_session.meta_version THEN
      RAISE EXCEPTION 'stale title or metadata' USING ERRCODE = 'LG002', DETAIL = p_session.head_seq::text;
    END IF;
    p_session.agent := coalesce(p_documents[1], p_session.agent);
    p_session.agent_revision := coalesce((p_patch ->> 'agent_revision')::int, p_session.agent_revision);
    p_session.agent_follows := coalesce((p_patch ->> 'agent_follows')::boolean, p_session.agent_follows);
    p_session.model := CASE WHEN (p_patch ->> 'clear_model')::boolean THEN NULL ELSE coalesce(p_documents[2]::json, p_session.model) END;
    p_session.title := CASE WHEN (p_patch ->> 'clear_title')::boolean THEN NULL ELSE coalesce(p_documents[3], p_session.title) END;
    p_session.metadata := coalesce(p_documents[4]::json, p_session.metadata);
    p_session.pending_turn := CASE WHEN (p_patch ->> 'clear_pending')::boolean THEN NULL
                                   ELSE coalesce((p_patch ->> 'pending_turn')::bigint, p_session.pending_turn) END;
    p_session.last_turn := coalesce((p_patch ->> 'last_turn')::bigint, p_session.last_turn);
    IF (p_patch ->> 'clear_dispatched')::boolean THEN
      p_session.dispatched_call := NULL;
    END IF;
    IF (p_patch ->> 'bump_meta')::boolean THEN
      p_session.meta_version := p_session.meta_version + 1;
    END IF;
  END IF;
  IF (p_call ->> 'dispatched')::boolean THEN
    p_session.dispatched_call := (p_call ->> 'call_id')::uuid;
    p_session.dispatched_count := p_session.dispatched_count + 1;
  END IF;
  IF (p_call ->> 'new')::boolean AND p_call ->> 'purpose' = 'compaction' THEN
    p_session.compaction_count := p_session.compaction_count + 1;
  END IF;
  IF p_usage IS NOT NULL THEN
    p_session.usage_input := p_session.usage_input + coalesce((p_usage ->> 'input')::bigint, 0);
    p_session.usage_cached := p_session.usage_cached + coalesce((p_usage ->> 'cached')::bigint, 0);
    p_session.usage_cache_write := p_session.usage_cache_write + coalesce((p_usage ->> 'cache_write')::bigint, 0);
    p_session.usage_output := p_session.usage_output + coalesce((p_usage ->> 'output')::bigint, 0);
    p_session.usage_reasoning := p_session.usage_reasoning + coalesce((p_usage ->> 'reasoning')::bigint, 0);
    p_session.usage_calls := p_session.usage_calls + 1;
  END IF;
  RETURN p_session;
END $$;
