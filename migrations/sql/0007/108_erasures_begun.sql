SET LOCAL ROLE ledger_relay;
-- Sessions of all tenants whose erasure began that long ago and was cut off before the last of them was gone; those that began first.
CREATE FUNCTION ledger.erasures_begun_v1(p_older_than_seconds float8, p_max int) RETURNS TABLE (tenant_id uuid, session_id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT s.tenant_id, s.session_id FROM ledger.sessions s
   WHERE s.erased_at <= clock_timestamp() - make_interval(secs => p_older_than_seconds) AND s.erased_at IS NOT NULL AND s.emptied_at IS NULL
   ORDER BY s.erased_at LIMIT p_max;
END $$;
GRANT EXECUTE ON FUNCTION ledger.erasures_begun_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
