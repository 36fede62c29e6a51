-- A session, all that it was forked from and all that were forked from any of these: at most p_max, erased ones left out. sharing: those that
-- hold the session's entry p_seq too, itself among them. By id, the order in which they are locked.
CREATE FUNCTION ledger.family_v1(p_tenant uuid, p_session uuid, p_seq bigint, p_max int)
RETURNS TABLE (session_id uuid, sharing boolean, document text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  WITH RECURSIVE up AS (
    SELECT s.session_id, s.parent_session FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session
    UNION ALL
    SELECT s.session_id, s.parent_session FROM up JOIN ledger.sessions s ON s.tenant_id = p_tenant AND s.session_id = up.parent_session
  ), down AS (
    SELECT u.session_id, u.session_id = p_session AS sharing FROM up u WHERE u.parent_session IS NULL
    UNION ALL
    SELECT s.session_id, s.session_id = p_session OR (d.sharing AND s.parent_seq >= p_seq)
      FROM down d JOIN ledger.sessions s ON s.tenant_id = p_tenant AND s.parent_session = d.session_id AND s.erased_at IS NULL
  )
  SELECT s.session_id, f.sharing, ledger.session_document(s)
    FROM (SELECT * FROM down LIMIT p_max) f
    JOIN ledger.sessions s ON s.tenant_id = p_tenant AND s.session_id = f.session_id
   ORDER BY s.session_id;
END $$;
GRANT EXECUTE ON FUNCTION ledger.family_v1 TO ledger_app, ledger_reader;
