-- Keeps an answer, unless its session is erased; no row when it was kept, else what stood there before.
CREATE OR REPLACE FUNCTION ledger.idempotency_put_v1(
  p_tenant uuid, p_route text, p_key text, p_request_digest bytea, p_status int, p_body text, p_session uuid, p_turn bigint)
RETURNS TABLE (stored_digest bytea, stored_status int, stored_body text, stored_session uuid, stored_turn bigint, recorded_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  PERFORM FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session FOR KEY SHARE;
  IF EXISTS (SELECT FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session AND s.erased_at IS NOT NULL) THEN
    PERFORM ledger.refuse_missing(p_tenant, p_session);
  END IF;
  RETURN QUERY
  SELECT k.stored_digest, k.stored_status, k.stored_body, k.stored_session, k.stored_turn, k.recorded_at
    FROM ledger.idempotency_keep(p_tenant, p_route, p_key, p_request_digest, p_status, p_body, p_session, p_turn) k
   WHERE k.replayed;
END $$;
GRANT EXECUTE ON FUNCTION ledger.idempotency_put_v1 TO ledger_app;
