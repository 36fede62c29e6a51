SET LOCAL ROLE ledger_relay;
-- At most p_max events of each turn behind its cursor.
CREATE FUNCTION ledger.deltas_get_v1(p_tenants uuid[], p_sessions uuid[], p_turns bigint[], p_after bigint[], p_max int)
RETURNS TABLE (session_id uuid, turn bigint, n bigint, body text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT w.session_id, w.turn, x.n, x.body
    FROM unnest(p_tenants, p_sessions, p_turns, p_after) WITH ORDINALITY AS w(tenant_id, session_id, turn, after, place)
   CROSS JOIN LATERAL (
     SELECT d.n, d.body FROM ledger.deltas d
      WHERE d.tenant_id = w.tenant_id AND d.session_id = w.session_id AND d.turn = w.turn AND d.n > w.after
      ORDER BY d.n LIMIT p_max) x
   ORDER BY w.place, x.n
$$;
GRANT EXECUTE ON FUNCTION ledger.deltas_get_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
