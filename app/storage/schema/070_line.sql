-- The line that was current when p_seq was the head; null is the plain line.
CREATE FUNCTION ledger.line_v1(p_tenant uuid, p_session uuid, p_seq bigint) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN (SELECT e.line FROM ledger.entries e
           WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.line IS NOT NULL AND e.seq <= p_seq
           ORDER BY e.seq DESC LIMIT 1);
END $$;
GRANT EXECUTE ON FUNCTION ledger.line_v1 TO ledger_app, ledger_reader;
