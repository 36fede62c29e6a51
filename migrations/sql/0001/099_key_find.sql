SET LOCAL ROLE ledger_relay;
-- By digest, before a tenant is known; a revoked key is none.
CREATE FUNCTION ledger.key_find_v1(p_digest bytea)
RETURNS TABLE (key_id uuid, tenant_id uuid, name text, scopes text[], created_at timestamptz, revoked_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT k.key_id, k.tenant_id, k.name, k.scopes, k.created_at, k.revoked_at
    FROM ledger.keys k WHERE k.digest = p_digest AND k.revoked_at IS NULL
$$;
GRANT EXECUTE ON FUNCTION ledger.key_find_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
