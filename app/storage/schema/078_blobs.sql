-- A session's blobs, and those of a fork's ancestry that it has none of its own for.
CREATE FUNCTION ledger.blobs_v1(p_tenant uuid, p_session uuid, p_digests bytea[])
RETURNS TABLE (digest bytea, media_type text, body bytea)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_found int;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT b.digest, b.media_type, b.body FROM ledger.blobs b
   WHERE b.tenant_id = p_tenant AND b.session_id = p_session AND b.digest = ANY (p_digests) AND b.erased_at IS NULL;
  GET DIAGNOSTICS v_found = ROW_COUNT;
  IF v_found < cardinality(p_digests) THEN
    RETURN QUERY
    SELECT DISTINCT ON (b.digest) b.digest, b.media_type, b.body
      FROM ledger.blobs b
     WHERE b.tenant_id = p_tenant AND b.digest = ANY (p_digests) AND b.erased_at IS NULL AND b.session_id <> p_session
       AND b.session_id = ANY (ARRAY(
             SELECT p.session_id FROM ledger.pieces(ledger.whole_line(p_tenant, p_session), p_session, 9223372036854775807) AS p))
       AND NOT EXISTS (SELECT FROM ledger.blobs o
                        WHERE o.tenant_id = p_tenant AND o.session_id = p_session AND o.digest = b.digest AND o.erased_at IS NULL)
     ORDER BY b.digest, b.created_at;
  END IF;
END $$;
GRANT EXECUTE ON FUNCTION ledger.blobs_v1 TO ledger_app, ledger_reader;
