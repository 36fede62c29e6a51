SET LOCAL ROLE ledger_relay;
-- The same answer as renew_v1, without renewing.
CREATE FUNCTION ledger.claims_watch_v1(p_holder uuid, p_sessions uuid[], p_fences bigint[])
RETURNS TABLE (session_id uuid, fence bigint, stopped boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT c.session_id, c.fence, c.stop_requested_at IS NOT NULL
    FROM ledger.claims c
    JOIN unnest(p_sessions, p_fences) AS w(session_id, fence) ON c.session_id = w.session_id AND c.fence = w.fence
   WHERE c.holder = p_holder
$$;
GRANT EXECUTE ON FUNCTION ledger.claims_watch_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
