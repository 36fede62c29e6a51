SET LOCAL ROLE ledger_relay;
-- Renews all claims of a holder at once and gives those that it still has, with their stop requests. One that ran out is renewed
-- unless somebody took it.
CREATE FUNCTION ledger.renew_v1(p_holder uuid, p_sessions uuid[], p_fences bigint[], p_lease_seconds float8)
RETURNS TABLE (session_id uuid, fence bigint, stopped boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  v_until timestamptz := clock_timestamp() + make_interval(secs => p_lease_seconds);
BEGIN
  RETURN QUERY
  UPDATE ledger.claims c SET lease_until = v_until
    FROM unnest(p_sessions, p_fences) AS w(session_id, fence)
   WHERE c.holder = p_holder AND c.session_id = w.session_id AND c.fence = w.fence
  RETURNING c.session_id, c.fence, c.stop_requested_at IS NOT NULL;
END $$;
GRANT EXECUTE ON FUNCTION ledger.renew_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
