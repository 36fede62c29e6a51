SET LOCAL ROLE ledger_relay;
CREATE FUNCTION ledger.deltas_bounds_v1(p_tenant uuid, p_session uuid, p_turn bigint, OUT first_n bigint, OUT last_n bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT min(d.n), max(d.n) FROM ledger.deltas d WHERE d.tenant_id = p_tenant AND d.session_id = p_session AND d.turn = p_turn
$$;
GRANT EXECUTE ON FUNCTION ledger.deltas_bounds_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
