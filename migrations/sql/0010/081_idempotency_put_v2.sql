-- Keeps an answer, unless its session is erased; no row when it was kept, else what stood there before. p_prefix_key, of an answer that may
-- hold words of the session: its key from before they were read (empty: none). A redaction since then has changed it, and nothing is kept.
-- One of the two waits at the session's lock, so that the answer is there when the redaction looks, or the new key when the answer comes.
CREATE FUNCTION ledger.idempotency_put_v2(
  p_tenant uuid, p_route text, p_key text, p_request_digest bytea, p_status int, p_body text, p_session uuid, p_turn bigint,
  p_prefix_key bytea)
RETURNS TABLE (stored_digest bytea, stored_status int, stored_body text, stored_session uuid, stored_turn bigint, recorded_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  v_erased_at  timestamptz;
  v_prefix_key bytea;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  SELECT s.erased_at, s.prefix_key INTO v_erased_at, v_prefix_key
    FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session FOR KEY SHARE;
  IF v_erased_at IS NOT NULL THEN
    PERFORM ledger.refuse_missing(p_tenant, p_session);
  END IF;
  IF p_prefix_key <> coalesce(v_prefix_key, '') THEN
    RETURN;
  END IF;
  RETURN QUERY
  SELECT k.stored_digest, k.stored_status, k.stored_body, k.stored_session, k.stored_turn, k.recorded_at
    FROM ledger.idempotency_keep(p_tenant, p_route, p_key, p_request_digest, p_status, p_body, p_session, p_turn) k
   WHERE k.replayed;
END $$;
GRANT EXECUTE ON FUNCTION ledger.idempotency_put_v2 TO ledger_app;
