-- Newest activity first. The day bucket comes from an index, the order within a day from a sort of that day's sessions.
-- Planned for its arguments, so that a filter that is not given costs nothing and one by user uses its index.
CREATE FUNCTION ledger.sessions_v1(
  p_tenant uuid, p_agent text, p_user text, p_external_id text, p_status text, p_keys text[], p_values text[],
  p_active_at timestamptz, p_session uuid, p_limit int)
RETURNS SETOF text LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT ledger.session_document(s) FROM ledger.sessions s
   WHERE s.tenant_id = p_tenant AND s.erased_at IS NULL
     AND (p_agent IS NULL OR s.agent = p_agent)
     AND (p_user IS NULL OR s.user_name = p_user)
     AND (p_external_id IS NULL OR s.external_id = p_external_id)
     AND (p_status IS NULL OR p_status = CASE WHEN s.claim_turn IS NOT NULL THEN 'busy' WHEN s.pending_turn IS NOT NULL THEN 'pending'
                                              ELSE 'idle' END)
     AND (coalesce(cardinality(p_keys), 0) = 0 OR ledger.metadata_holds(s.metadata, p_keys, p_values))
     AND (p_active_at IS NULL OR s.active_on <= (p_active_at AT TIME ZONE 'UTC')::date AND (s.active_at, s.session_id) < (p_active_at, p_session))
   ORDER BY s.active_on DESC, s.active_at DESC, s.session_id DESC LIMIT p_limit;
END $$;
GRANT EXECUTE ON FUNCTION ledger.sessions_v1 TO ledger_app, ledger_reader;
