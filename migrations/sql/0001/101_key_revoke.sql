SET LOCAL ROLE ledger_relay;
CREATE FUNCTION ledger.key_revoke_v1(p_tenant uuid, p_key_id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  UPDATE ledger.keys k SET revoked_at = coalesce(k.revoked_at, clock_timestamp())
   WHERE k.key_id = p_key_id AND (p_tenant IS NULL OR k.tenant_id = p_tenant);
  RETURN FOUND;
END $$;
GRANT EXECUTE ON FUNCTION ledger.key_revoke_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
