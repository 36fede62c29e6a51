-- idempotency_put_v2 of an answer without words of the session, as processes of an earlier release ask for it.
CREATE OR REPLACE FUNCTION ledger.idempotency_put_v1(
  p_tenant uuid, p_route text, p_key text, p_request_digest bytea, p_status int, p_body text, p_session uuid, p_turn bigint)
RETURNS TABLE (stored_digest bytea, stored_status int, stored_body text, stored_session uuid, stored_turn bigint, recorded_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  RETURN QUERY
  SELECT k.* FROM ledger.idempotency_put_v2(p_tenant, p_route, p_key, p_request_digest, p_status, p_body, p_session, p_turn, NULL) k;
END $$;
GRANT EXECUTE ON FUNCTION ledger.idempotency_put_v1 TO ledger_app;
