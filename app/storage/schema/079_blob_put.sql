CREATE FUNCTION ledger.blob_put_v1(p_tenant uuid, p_session uuid, p_digest bytea, p_media_type text, p_body bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  PERFORM FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session AND s.erased_at IS NULL FOR KEY SHARE;
  IF NOT FOUND THEN                                             -- the lock keeps an erasure off until the bytes are there
    PERFORM ledger.refuse_missing(p_tenant, p_session);
  END IF;
  INSERT INTO ledger.blobs (tenant_id, session_id, digest, media_type, byte_length, body)
  VALUES (p_tenant, p_session, p_digest, p_media_type, octet_length(p_body), p_body)
  ON CONFLICT (tenant_id, session_id, digest) DO UPDATE SET body = excluded.body, erased_at = NULL WHERE blobs.erased_at IS NOT NULL;
  RETURN FOUND;
END $$;
GRANT EXECUTE ON FUNCTION ledger.blob_put_v1 TO ledger_app;
