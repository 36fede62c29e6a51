CREATE FUNCTION ledger.session_external_v1(p_tenant uuid, p_user text, p_external_id text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN (SELECT ledger.session_document(s) FROM ledger.sessions s
           WHERE s.tenant_id = p_tenant AND coalesce(s.user_name, '') = coalesce(p_user, '') AND s.external_id = p_external_id);
END $$;
GRANT EXECUTE ON FUNCTION ledger.session_external_v1 TO ledger_app, ledger_reader;
