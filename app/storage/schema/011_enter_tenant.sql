-- Each function that works for a tenant calls this first. It holds to the end of the statement (in AUTOCOMMIT) or of the
-- transaction around it, which therefore belongs to one tenant.
CREATE FUNCTION ledger.enter_tenant(p_tenant uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF ledger.current_tenant() <> p_tenant THEN
    RAISE EXCEPTION 'this transaction belongs to another tenant' USING ERRCODE = 'LG009';
  END IF;
  PERFORM pg_catalog.set_config('app.tenant_id', p_tenant::text, true);
END $$;
GRANT EXECUTE ON FUNCTION ledger.enter_tenant(uuid) TO ledger_app, ledger_reader, ledger_eraser;
