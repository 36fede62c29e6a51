-- Makes the session that was just opened a fork of p_parent: it goes on behind p_at_seq, with the digest, the counts and the settings that
-- held there, and no row is copied. Everything read lies at p_at_seq or before and never changes, so the parent's writers are not held up;
-- its row is held against an erasure, which locks it FOR UPDATE. Part of append_v1. Raises LG013 where a turn is under way at p_at_seq.
CREATE OR REPLACE FUNCTION ledger.open_fork(p_tenant uuid, p_session uuid, p_parent uuid, p_at_seq bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_owner    uuid;                        -- who holds the entry at p_at_seq: the parent, or one of its ancestry
  v_digest   bytea;
  v_messages bigint;
  v_turns    bigint;
  v_ends     bigint;
  v_fork     ledger.forks%ROWTYPE;        -- of the owner
BEGIN
  PERFORM FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_parent AND s.erased_at IS NULL FOR KEY SHARE;
  IF NOT FOUND THEN
    PERFORM ledger.refuse_missing(p_tenant, p_parent);
  END IF;
  v_owner := ledger.owner_of(p_tenant, p_parent, p_at_seq);
  v_digest := (SELECT e.digest FROM ledger.entries e WHERE e.tenant_id = p_tenant AND e.session_id = v_owner AND e.seq = p_at_seq);
  IF v_digest IS NULL THEN
    RAISE EXCEPTION 'no such session or seq' USING ERRCODE = 'LG004';
  END IF;
  SELECT t.number, coalesce(t.last_seq, 9223372036854775807) INTO v_turns, v_ends
    FROM ledger.turns t WHERE t.tenant_id = p_tenant AND t.session_id = v_owner AND t.first_seq <= p_at_seq ORDER BY t.number DESC LIMIT 1;
  IF v_ends > p_at_seq THEN
    RAISE EXCEPTION 'a turn is under way at that seq' USING ERRCODE = 'LG013';
  END IF;
  SELECT f.* INTO v_fork FROM ledger.forks f WHERE f.tenant_id = p_tenant AND f.session_id = v_owner;
  v_messages := coalesce((
    SELECT e.message_index + 1 FROM ledger.entries e
     WHERE e.tenant_id = p_tenant AND e.session_id = v_owner AND e.seq <= p_at_seq AND e.message_index IS NOT NULL
     ORDER BY e.seq DESC LIMIT 1), v_fork.message_count, 0);
  v_turns := coalesce(v_turns, v_fork.turn_count, 0);

  INSERT INTO ledger.forks (tenant_id, session_id, message_count, turn_count, pieces, settings)
  SELECT p_tenant, p_session, v_messages, v_turns,
         (SELECT '[' || string_agg(format('[%s,%s,"%s"]', p.from_seq, p.through_seq, p.session_id), ',' ORDER BY p.from_seq)
                 || format(',[%s,null,null]]', p_at_seq + 1)
            FROM ledger.pieces(ledger.whole_line(p_tenant, p_parent), p_parent, p_at_seq) p WHERE p.from_seq <= p_at_seq),
         ledger.settings_at(p_tenant, v_owner, p_at_seq, v_fork.settings);
  UPDATE ledger.sessions s
     SET parent_session = p_parent, parent_seq = p_at_seq, head_seq = p_at_seq, head_digest = v_digest, message_count = v_messages,
         turn_count = v_turns,
         prefix_key = (SELECT o.prefix_key FROM ledger.sessions o WHERE o.tenant_id = p_tenant AND o.session_id = p_parent),
         last_turn = coalesce((
           SELECT x.turn FROM ledger.pieces(ledger.line_v1(p_tenant, p_parent, p_at_seq), p_parent, p_at_seq) AS p
            CROSS JOIN LATERAL (
              SELECT e.seq, e.turn FROM ledger.entries e
               WHERE e.tenant_id = p_tenant AND e.session_id = p.session_id AND e.seq BETWEEN p.from_seq AND p.through_seq
                 AND e.turn IS NOT NULL AND v_turns > 0          -- no look at all that was imported for a turn that is not there
               ORDER BY e.seq DESC LIMIT 1) x
            ORDER BY x.seq DESC LIMIT 1), 0)
   WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
END $$;

-- The entry of each settings kind that was in force at p_seq: the session's own newest, else the one that it was born with. Steps through
-- the index from kind to kind, whatever number of entries each has.
CREATE OR REPLACE FUNCTION ledger.settings_at(p_tenant uuid, p_session uuid, p_seq bigint, p_born json) RETURNS json
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce((
    WITH RECURSIVE kinds AS (
      (SELECT e.kind FROM ledger.entries e WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.family = 's' ORDER BY e.kind LIMIT 1)
      UNION ALL
      SELECT (SELECT e.kind FROM ledger.entries e
               WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.family = 's' AND e.kind > k.kind ORDER BY e.kind LIMIT 1)
        FROM kinds k WHERE k.kind IS NOT NULL
    ), own AS (
      SELECT k.kind, (SELECT e.seq FROM ledger.entries e
                       WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.family = 's' AND e.kind = k.kind AND e.seq <= p_seq
                       ORDER BY e.seq DESC LIMIT 1) AS seq
        FROM kinds k WHERE k.kind IS NOT NULL
    )
    SELECT json_object_agg(x.kind, x.place)
      FROM (SELECT o.kind, json_build_array(p_session, o.seq) AS place FROM own o WHERE o.seq IS NOT NULL
            UNION ALL
            SELECT b.key, b.value FROM json_each(p_born) AS b(key, value)
             WHERE NOT EXISTS (SELECT FROM own o WHERE o.kind = b.key AND o.seq IS NOT NULL)) x), '{}');
END $$;
