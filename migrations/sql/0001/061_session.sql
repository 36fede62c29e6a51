CREATE FUNCTION ledger.session_v1(p_tenant uuid, p_session uuid) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN (SELECT ledger.session_document(s) FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session);
END $$;
GRANT EXECUTE ON FUNCTION ledger.session_v1 TO ledger_app, ledger_reader;
