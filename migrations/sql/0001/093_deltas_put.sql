SET LOCAL ROLE ledger_relay;
-- Logs events of many turns at once and gives the claims whose rows were refused, because another writer has the session or none.
-- The lock holds a takeover off until the rows are there: who takes over then reads all that was logged.
CREATE FUNCTION ledger.deltas_put_v1(
  p_tenants uuid[], p_sessions uuid[], p_turns bigint[], p_fences bigint[], p_ns bigint[], p_bodies text[])
RETURNS TABLE (session_id uuid, fence bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  v_sessions uuid[];
  v_fences   bigint[];
BEGIN
  SELECT array_agg(x.session_id), array_agg(x.fence) INTO v_sessions, v_fences
    FROM (SELECT c.session_id, c.fence FROM ledger.claims c
           WHERE (c.tenant_id, c.session_id, c.fence) IN (SELECT * FROM unnest(p_tenants, p_sessions, p_fences))
             FOR KEY SHARE OF c) x;
  INSERT INTO ledger.deltas (tenant_id, session_id, turn, n, fence, body)
  SELECT d.tenant_id, d.session_id, d.turn, d.n, d.fence, d.body
    FROM unnest(p_tenants, p_sessions, p_turns, p_ns, p_fences, p_bodies) AS d(tenant_id, session_id, turn, n, fence, body)
    JOIN unnest(v_sessions, v_fences) AS h(session_id, fence) ON h.session_id = d.session_id AND h.fence = d.fence
  ON CONFLICT DO NOTHING;
  RETURN QUERY
  SELECT DISTINCT d.session_id, d.fence FROM unnest(p_sessions, p_fences) AS d(session_id, fence)
   WHERE NOT EXISTS (SELECT FROM unnest(v_sessions, v_fences) AS h(session_id, fence)
                      WHERE h.session_id = d.session_id AND h.fence = d.fence);
END $$;
GRANT EXECUTE ON FUNCTION ledger.deltas_put_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
