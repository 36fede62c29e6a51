SET LOCAL ROLE ledger_relay;
-- Deletes old events, none of a turn that still runs.
CREATE FUNCTION ledger.deltas_purge_v1(p_older_than_seconds float8, p_max int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  v_rows bigint;
BEGIN
  DELETE FROM ledger.deltas d
   WHERE d.ctid = ANY (ARRAY(
     SELECT x.ctid FROM ledger.deltas x
      WHERE x.created_at <= clock_timestamp() - make_interval(secs => p_older_than_seconds)
        AND NOT EXISTS (SELECT FROM ledger.claims c
                         WHERE c.tenant_id = x.tenant_id AND c.session_id = x.session_id AND c.turn = x.turn)
      LIMIT p_max));
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  RETURN v_rows;
END $$;
GRANT EXECUTE ON FUNCTION ledger.deltas_purge_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
