SET LOCAL ROLE ledger_relay;
CREATE FUNCTION ledger.keys_v1(p_tenant uuid, p_after uuid, p_max int)
RETURNS TABLE (key_id uuid, tenant_id uuid, name text, scopes text[], created_at timestamptz, revoked_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  SELECT k.key_id, k.tenant_id, k.name, k.scopes, k.created_at, k.revoked_at
    FROM ledger.keys k
   WHERE (p_tenant IS NULL OR k.tenant_id = p_tenant) AND (p_after IS NULL OR k.key_id > p_after)
   ORDER BY k.key_id LIMIT p_max
$$;
GRANT EXECUTE ON FUNCTION ledger.keys_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
