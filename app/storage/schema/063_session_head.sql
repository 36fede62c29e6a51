CREATE FUNCTION ledger.session_head_v1(p_tenant uuid, p_session uuid)
RETURNS TABLE (head_seq bigint, head_digest bytea, message_count bigint, line text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT s.head_seq, s.head_digest, s.message_count, s.line FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
END $$;
GRANT EXECUTE ON FUNCTION ledger.session_head_v1 TO ledger_app, ledger_reader;
