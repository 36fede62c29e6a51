CREATE FUNCTION ledger.blobs_v1(p_tenant uuid, p_session uuid, p_digests bytea[])
RETURNS TABLE (digest bytea, media_type text, body bytea)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT b.digest, b.media_type, b.body FROM ledger.blobs b
   WHERE b.tenant_id = p_tenant AND b.session_id = p_session AND b.digest = ANY (p_digests) AND b.erased_at IS NULL;
END $$;
GRANT EXECUTE ON FUNCTION ledger.blobs_v1 TO ledger_app, ledger_reader;
