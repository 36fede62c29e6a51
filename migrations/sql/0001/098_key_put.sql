SET LOCAL ROLE ledger_relay;
-- Stores a key, or gives the one with that digest.
CREATE FUNCTION ledger.key_put_v1(p_tenant uuid, p_key_id uuid, p_name text, p_digest bytea, p_scopes text[])
RETURNS TABLE (key_id uuid, tenant_id uuid, name text, scopes text[], created_at timestamptz, revoked_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO ledger.keys (key_id, tenant_id, name, digest, scopes) VALUES (p_key_id, p_tenant, p_name, p_digest, p_scopes)
  ON CONFLICT DO NOTHING;
  RETURN QUERY
  SELECT k.key_id, k.tenant_id, k.name, k.scopes, k.created_at, k.revoked_at FROM ledger.keys k WHERE k.digest = p_digest;
END $$;
GRANT EXECUTE ON FUNCTION ledger.key_put_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
