-- Stores a blob, also one that was erased; false where it is there. p_fence: of a writer that holds the session, LG007 once it does not, so
-- that nothing made of what has been redacted since is stored: no redaction comes while a session is held.
CREATE FUNCTION ledger.blob_put_v2(p_tenant uuid, p_session uuid, p_digest bytea, p_media_type text, p_body bytea, p_fence bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  v_held bigint;                                                -- the fence of the claim that holds the session
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  SELECT CASE WHEN s.claim_turn IS NOT NULL THEN s.fence END INTO v_held
    FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session AND s.erased_at IS NULL FOR KEY SHARE;
  IF NOT FOUND THEN                                             -- the lock keeps an erasure off until the bytes are there
    PERFORM ledger.refuse_missing(p_tenant, p_session);
  END IF;
  IF p_fence <> coalesce(v_held, 0) THEN
    RAISE EXCEPTION 'another writer took the session over' USING ERRCODE = 'LG007';
  END IF;
  INSERT INTO ledger.blobs (tenant_id, session_id, digest, media_type, byte_length, body)
  VALUES (p_tenant, p_session, p_digest, p_media_type, octet_length(p_body), p_body)
  ON CONFLICT (tenant_id, session_id, digest) DO UPDATE SET body = excluded.body, erased_at = NULL WHERE blobs.erased_at IS NOT NULL;
  RETURN FOUND;
END $$;
GRANT EXECUTE ON FUNCTION ledger.blob_put_v2 TO ledger_app;
