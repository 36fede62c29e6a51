SET LOCAL ROLE ledger_relay;
-- Deletes the events of turns whose last one is old, none of a turn that still runs: a turn whole or not at all, so that nobody who reads
-- it on meets a hole. As many turns as it takes to reach p_max events.
CREATE FUNCTION ledger.deltas_purge_v1(p_older_than_seconds float8, p_max int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  v_until timestamptz := clock_timestamp() - make_interval(secs => p_older_than_seconds);
  v_rows  bigint;
BEGIN
  DELETE FROM ledger.deltas d
   USING (SELECT o.*, sum(o.events) OVER (ORDER BY o.tenant_id, o.session_id, o.turn) AS reached
            FROM (SELECT x.tenant_id, x.session_id, x.turn, count(*) AS events
                    FROM ledger.deltas x WHERE x.created_at <= v_until GROUP BY x.tenant_id, x.session_id, x.turn) o
           WHERE v_until >= (SELECT y.created_at FROM ledger.deltas y
                              WHERE y.tenant_id = o.tenant_id AND y.session_id = o.session_id AND y.turn = o.turn
                              ORDER BY y.n DESC, y.fence DESC LIMIT 1)
             AND NOT EXISTS (SELECT FROM ledger.claims c
                              WHERE c.tenant_id = o.tenant_id AND c.session_id = o.session_id AND c.turn = o.turn)) g
   WHERE g.reached - g.events < p_max AND d.tenant_id = g.tenant_id AND d.session_id = g.session_id AND d.turn = g.turn;
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  RETURN v_rows;
END $$;
GRANT EXECUTE ON FUNCTION ledger.deltas_purge_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
