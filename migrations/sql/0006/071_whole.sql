-- The whole ledger of a session, all lines, spelled as a line: a fork's goes through its ancestry.
CREATE FUNCTION ledger.whole_line(p_tenant uuid, p_session uuid) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce((SELECT f.pieces FROM ledger.forks f WHERE f.tenant_id = p_tenant AND f.session_id = p_session), '[[1,null,null]]');
END $$;
GRANT EXECUTE ON FUNCTION ledger.whole_line TO ledger_app, ledger_reader;

-- The session that holds the entry p_seq of a session's ledger: itself, or one of a fork's ancestry.
CREATE FUNCTION ledger.owner_of(p_tenant uuid, p_session uuid, p_seq bigint) RETURNS uuid
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce((
    SELECT p.session_id FROM ledger.forks f CROSS JOIN LATERAL ledger.pieces(f.pieces, p_session, p_seq) AS p
     WHERE f.tenant_id = p_tenant AND f.session_id = p_session AND p_seq BETWEEN p.from_seq AND p.through_seq), p_session);
END $$;
GRANT EXECUTE ON FUNCTION ledger.owner_of TO ledger_app, ledger_reader;

-- What a fork knows of what it shares; no row for any other session.
CREATE FUNCTION ledger.fork_v1(p_tenant uuid, p_session uuid)
RETURNS TABLE (message_count bigint, turn_count bigint, pieces text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT f.message_count, f.turn_count, f.pieces FROM ledger.forks f WHERE f.tenant_id = p_tenant AND f.session_id = p_session;
END $$;
GRANT EXECUTE ON FUNCTION ledger.fork_v1 TO ledger_app, ledger_reader;

-- The settings entries that a fork was born with, also those that its own have replaced since; none of any other session.
CREATE FUNCTION ledger.born_settings(p_tenant uuid, p_session uuid, p_kinds text[])
RETURNS SETOF ledger.entry_rows LANGUAGE plpgsql STABLE ROWS 5 AS $$
BEGIN
  RETURN QUERY
  SELECT e.* FROM ledger.forks f
   CROSS JOIN LATERAL json_each(f.settings) AS b(kind, place)
    JOIN ledger.entry_rows e ON e.tenant_id = p_tenant AND e.session_id = (b.place ->> 0)::uuid AND e.seq = (b.place ->> 1)::bigint
   WHERE f.tenant_id = p_tenant AND f.session_id = p_session AND b.kind = ANY (p_kinds);
END $$;
GRANT EXECUTE ON FUNCTION ledger.born_settings TO ledger_app, ledger_reader;

-- The settings entries in force when p_seq was the head, of the kinds that are asked for: first those that a fork was born with, then its
-- own, which take their place.
CREATE FUNCTION ledger.settings_v1(p_tenant uuid, p_session uuid, p_seq bigint, p_kinds text[])
RETURNS SETOF ledger.entry_rows LANGUAGE plpgsql AS $$
DECLARE
  v_owner uuid;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  v_owner := ledger.owner_of(p_tenant, p_session, p_seq);
  RETURN QUERY SELECT b.* FROM ledger.born_settings(p_tenant, v_owner, p_kinds) b;
  RETURN QUERY
  SELECT x.* FROM unnest(p_kinds) AS w(kind)
   CROSS JOIN LATERAL (
     SELECT e.* FROM ledger.entry_rows e
      WHERE e.tenant_id = p_tenant AND e.session_id = v_owner AND e.family = 's' AND e.kind = w.kind AND e.seq <= p_seq
      ORDER BY e.seq DESC LIMIT 1) x;
END $$;
GRANT EXECUTE ON FUNCTION ledger.settings_v1 TO ledger_app, ledger_reader;
