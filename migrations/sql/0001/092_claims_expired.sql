SET LOCAL ROLE ledger_relay;
-- Claims that may be taken over: the lease ran out, or a stop request is five seconds old.
CREATE FUNCTION ledger.claims_expired_v1(p_max int) RETURNS TABLE (tenant_id uuid, session_id uuid, turn bigint, fence bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  RETURN QUERY
  SELECT c.tenant_id, c.session_id, c.turn, c.fence FROM ledger.claims c
   WHERE c.lease_until <= v_now OR c.stop_requested_at <= v_now - interval '5 seconds'
   ORDER BY c.lease_until LIMIT p_max;
END $$;
GRANT EXECUTE ON FUNCTION ledger.claims_expired_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
