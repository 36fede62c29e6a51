-- There is no such session, or it is erased. Part of what writes sessions.
CREATE FUNCTION ledger.refuse_missing(p_tenant uuid, p_session uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session AND s.erased_at IS NOT NULL) THEN
    RAISE EXCEPTION 'the session is erased' USING ERRCODE = 'LG016';
  END IF;
  RAISE EXCEPTION 'no such session' USING ERRCODE = 'LG004';
END $$;
GRANT EXECUTE ON FUNCTION ledger.refuse_missing TO ledger_eraser;
