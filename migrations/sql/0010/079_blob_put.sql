-- blob_put_v2 without a claim, as processes of an earlier release ask for it.
CREATE OR REPLACE FUNCTION ledger.blob_put_v1(p_tenant uuid, p_session uuid, p_digest bytea, p_media_type text, p_body bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  RETURN ledger.blob_put_v2(p_tenant, p_session, p_digest, p_media_type, p_body, NULL);
END $$;
GRANT EXECUTE ON FUNCTION ledger.blob_put_v1 TO ledger_app;
