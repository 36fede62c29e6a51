-- The state of a session in one look: its user, the newest entry of the kind that records it, up to p_at_seq (null: the head), and what the
-- sessions of its user share now. All of one snapshot.
CREATE OR REPLACE FUNCTION ledger.state_v1(p_tenant uuid, p_session uuid, p_kind text, p_at_seq bigint)
RETURNS TABLE (user_name text, seq bigint, payload text, user_version bigint, user_state text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT s.user_name, x.seq, x.payload, u.version, u.state::text
    FROM ledger.sessions s
    LEFT JOIN LATERAL (
      SELECT y.seq, y.payload
        FROM ((SELECT e.seq, e.payload::text FROM ledger.entries e
                WHERE e.tenant_id = s.tenant_id AND e.session_id = s.session_id AND e.family = 's' AND e.kind = p_kind
                  AND e.seq <= coalesce(p_at_seq, s.head_seq)
                ORDER BY e.seq DESC LIMIT 1)
              UNION ALL
              SELECT i.seq, i.payload FROM ledger.shared_setting(p_tenant, p_session, p_kind, coalesce(p_at_seq, s.head_seq)) i
               WHERE s.parent_seq IS NOT NULL) y
       ORDER BY y.seq DESC LIMIT 1) x ON true
    LEFT JOIN ledger.user_states u ON u.tenant_id = s.tenant_id AND u.user_name = s.user_name COLLATE "C"
   WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
END $$;
GRANT EXECUTE ON FUNCTION ledger.state_v1 TO ledger_app, ledger_reader;

-- The entry of a settings kind that a fork shares and that was in force at p_seq, if its own is not.
CREATE OR REPLACE FUNCTION ledger.shared_setting(p_tenant uuid, p_session uuid, p_kind text, p_seq bigint)
RETURNS SETOF ledger.entry_rows LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
  v_owner uuid := ledger.owner_of(p_tenant, p_session, p_seq);
BEGIN
  RETURN QUERY
  SELECT e.* FROM ledger.entry_rows e
   WHERE v_owner <> p_session
     AND e.tenant_id = p_tenant AND e.session_id = v_owner AND e.family = 's' AND e.kind = p_kind AND e.seq <= p_seq
   ORDER BY e.seq DESC LIMIT 1;
  IF NOT FOUND THEN
    RETURN QUERY SELECT b.* FROM ledger.born_settings(p_tenant, v_owner, ARRAY[p_kind]) b;
  END IF;
END $$;
GRANT EXECUTE ON FUNCTION ledger.shared_setting TO ledger_app, ledger_reader;

CREATE OR REPLACE FUNCTION ledger.user_state_v1(p_tenant uuid, p_user text)
RETURNS TABLE (version bigint, state text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT u.version, u.state::text FROM ledger.user_states u WHERE u.tenant_id = p_tenant AND u.user_name = p_user COLLATE "C";
END $$;
GRANT EXECUTE ON FUNCTION ledger.user_state_v1 TO ledger_app, ledger_reader;
