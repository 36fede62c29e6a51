SET LOCAL ROLE ledger_relay;
CREATE FUNCTION ledger.idempotency_purge_v1(p_older_than_seconds float8, p_max int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  v_rows bigint;
BEGIN
  DELETE FROM ledger.idempotency i
   WHERE i.ctid = ANY (ARRAY(
     SELECT x.ctid FROM ledger.idempotency x
      WHERE x.created_at <= clock_timestamp() - make_interval(secs => p_older_than_seconds) LIMIT p_max));
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  RETURN v_rows;
END $$;
GRANT EXECUTE ON FUNCTION ledger.idempotency_purge_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
