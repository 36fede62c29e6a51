CREATE FUNCTION ledger.idempotency_get_v1(p_tenant uuid, p_route text, p_key text)
RETURNS TABLE (stored_digest bytea, stored_status int, stored_body text, stored_session uuid, stored_turn bigint, recorded_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT i.request_digest, i.status, i.body, i.session_id, i.turn, i.created_at
    FROM ledger.idempotency i WHERE i.tenant_id = p_tenant AND i.route = p_route AND i.key = p_key;
END $$;
GRANT EXECUTE ON FUNCTION ledger.idempotency_get_v1 TO ledger_app;
