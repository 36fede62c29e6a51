-- The state of a session in one look: its user, the newest entry of the kind that records it, up to p_at_seq (null: the head), and what the
-- sessions of its user share now. All of one snapshot.
CREATE FUNCTION ledger.state_v1(p_tenant uuid, p_session uuid, p_kind text, p_at_seq bigint)
RETURNS TABLE (user_name text, seq bigint, payload text, user_version bigint, user_state text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT s.user_name, x.seq, x.payload::text, u.version, u.state::text
    FROM ledger.sessions s
    LEFT JOIN LATERAL (
      SELECT e.seq, e.payload FROM ledger.entries e
       WHERE e.tenant_id = s.tenant_id AND e.session_id = s.session_id AND e.family = 's' AND e.kind = p_kind
         AND e.seq <= coalesce(p_at_seq, s.head_seq)
       ORDER BY e.seq DESC LIMIT 1) x ON true
    LEFT JOIN ledger.user_states u ON u.tenant_id = s.tenant_id AND u.user_name = s.user_name COLLATE "C"
   WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
END $$;
GRANT EXECUTE ON FUNCTION ledger.state_v1 TO ledger_app, ledger_reader;

CREATE FUNCTION ledger.user_state_v1(p_tenant uuid, p_user text)
RETURNS TABLE (version bigint, state text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT u.version, u.state::text FROM ledger.user_states u WHERE u.tenant_id = p_tenant AND u.user_name = p_user COLLATE "C";
END $$;
GRANT EXECUTE ON FUNCTION ledger.user_state_v1 TO ledger_app, ledger_reader;
