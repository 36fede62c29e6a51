SET LOCAL ROLE ledger_eraser;
-- Empties entries for good, and with them all that was derived from the entry p_seq of a session, in one transaction with the entries that
-- tell of it. p_family: all sessions of its family, by id; p_heads: their heads as the caller read them, null for those that do not hold
-- the entry. p_sessions and p_seqs name what is emptied; blobs of p_artifact_type go where no entry names them; the other arrays run
-- along the entries that are appended. A digest that was made of the text goes with it: of calls at p_since or behind it, where the text
-- stood first, and of requests, also of those that brought sessions in (p_names: the sharing ones as clients write them). Answers of routes
-- like p_figures hold no word of an entry and stay, so that no retry does anything again. The family gets a new key, so that no digest of a
-- prefix that stands in an answer tells of it.
-- Raises LG002 where something was appended or forked meanwhile, LG006 and LG010 where a turn runs, LG012 where the entry is of one that
-- waits, LG016 for what is erased.
CREATE FUNCTION ledger.redact_v1(
  p_tenant uuid, p_session uuid, p_seq bigint, p_since bigint, p_names text[], p_figures text[], p_family uuid[], p_heads bigint[], p_sessions uuid[], p_seqs bigint[],
  p_artifact_type text, p_places uuid[], p_kinds text[], p_families text[], p_versions int[], p_payloads text[], p_salts bytea[], p_lines text[],
  OUT erased_at timestamptz, OUT entries bigint, OUT blobs bigint, OUT deltas bigint, OUT answers bigint, OUT calls bigint,
  OUT turns bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  v_now     timestamptz := clock_timestamp();
  v_key     bytea := uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
  v_sharing uuid[];
  v_session record;
  v_locked  int := 0;
  v_turn    bigint;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  erased_at := v_now;
  SELECT array_agg(f.session_id) INTO v_sharing FROM unnest(p_family, p_heads) AS f(session_id, head) WHERE f.head IS NOT NULL;
  SELECT e.turn INTO v_turn FROM ledger.entries e WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.seq = p_seq;
  FOR v_session IN
    SELECT s.session_id, s.head_seq, s.claim_turn, s.pending_turn, s.erased_at, p_heads[array_position(p_family, s.session_id)] AS expected
      FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = ANY (p_family)
     ORDER BY s.session_id FOR UPDATE
  LOOP
    v_locked := v_locked + 1;
    IF v_session.erased_at IS NOT NULL AND v_session.session_id = p_session THEN
      RAISE EXCEPTION 'the session is erased' USING ERRCODE = 'LG016';
    END IF;
    IF v_session.expected IS NOT NULL THEN
      IF v_session.claim_turn IS NOT NULL THEN
        PERFORM ledger.refuse_busy(p_tenant, v_session.session_id, clock_timestamp());
      END IF;
      IF v_session.head_seq <> v_session.expected OR v_session.erased_at IS NOT NULL THEN
        RAISE EXCEPTION 'stale head' USING ERRCODE = 'LG002', DETAIL = v_session.head_seq::text;
      END IF;
      IF v_session.session_id = p_session AND v_session.pending_turn = v_turn THEN
        RAISE EXCEPTION 'a turn waits for results' USING ERRCODE = 'LG012', DETAIL = coalesce((
          SELECT t.turn_id::text FROM ledger.turns t
           WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.number = v_turn), '');
      END IF;
    END IF;
  END LOOP;
  IF v_locked < cardinality(p_family) OR EXISTS (
       SELECT FROM ledger.sessions f WHERE f.tenant_id = p_tenant AND f.parent_session = ANY (p_family) AND f.erased_at IS NULL
          AND f.session_id <> ALL (p_family)) THEN
    RAISE EXCEPTION 'stale family' USING ERRCODE = 'LG002', DETAIL = '0';
  END IF;

  UPDATE ledger.entries e SET payload = NULL, attributes = NULL, salt = NULL, erased_at = v_now
    FROM unnest(p_sessions, p_seqs) AS w(session_id, seq)
   WHERE e.tenant_id = p_tenant AND e.session_id = w.session_id AND e.seq = w.seq AND e.erased_at IS NULL;
  GET DIAGNOSTICS entries = ROW_COUNT;
  -- Bytes stay where another entry names them, also one of a fork that has none of its own. What is named is read once.
  WITH named AS MATERIALIZED (
    SELECT DISTINCT e.session_id, string_to_table(e.blobs, ' ') AS name FROM ledger.entries e
     WHERE e.tenant_id = p_tenant AND e.session_id = ANY (p_family) AND e.erased_at IS NULL AND e.blobs IS NOT NULL)
  UPDATE ledger.blobs b SET body = NULL, erased_at = v_now
   WHERE b.tenant_id = p_tenant AND b.session_id = ANY (v_sharing) AND b.erased_at IS NULL
     AND (b.media_type = p_artifact_type OR (b.session_id, 'sha256:' || encode(b.digest, 'hex')) IN (
       SELECT e.session_id, string_to_table(e.blobs, ' ')
         FROM unnest(p_sessions, p_seqs) AS w(session_id, seq)
         JOIN ledger.entries e ON e.tenant_id = p_tenant AND e.session_id = w.session_id AND e.seq = w.seq AND e.blobs IS NOT NULL))
     AND NOT EXISTS (
       SELECT FROM named n
        WHERE n.name = 'sha256:' || encode(b.digest, 'hex')
          AND (n.session_id = b.session_id OR NOT EXISTS (
            SELECT FROM ledger.blobs o
             WHERE o.tenant_id = p_tenant AND o.session_id = n.session_id AND o.digest = b.digest AND o.erased_at IS NULL)));
  GET DIAGNOSTICS blobs = ROW_COUNT;
  DELETE FROM ledger.deltas d WHERE d.tenant_id = p_tenant AND d.session_id = ANY (v_sharing);
  GET DIAGNOSTICS deltas = ROW_COUNT;
  -- An answer that an append keeps (201, or of a turn) holds nothing of an entry; another one is made anew when it is asked for again.
  DELETE FROM ledger.idempotency i
   WHERE i.tenant_id = p_tenant AND i.session_id = ANY (v_sharing) AND i.turn IS NULL AND i.status = 200 AND i.route NOT LIKE ALL (p_figures);
  GET DIAGNOSTICS answers = ROW_COUNT;
  WITH emptied AS (
    UPDATE ledger.idempotency i SET request_digest = decode(repeat('00', 32), 'hex')
     WHERE i.tenant_id = p_tenant
       AND (i.session_id = ANY (v_sharing)
            OR i.session_id IS NULL AND EXISTS (SELECT FROM unnest(p_names) AS n(name) WHERE strpos(i.body, n.name) > 0))
    RETURNING 1)
  SELECT answers + count(*) INTO answers FROM emptied;
  UPDATE ledger.calls c
     SET record = ledger.without_digests(c.record::text)::json
   WHERE c.tenant_id = p_tenant AND c.session_id = ANY (v_sharing) AND c.head_seq >= p_since;
  GET DIAGNOSTICS calls = ROW_COUNT;
  UPDATE ledger.turns t SET pending = NULL
   WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.number = v_turn AND t.pending IS NOT NULL;
  GET DIAGNOSTICS turns = ROW_COUNT;
  UPDATE ledger.sessions s SET prefix_key = v_key
   WHERE s.tenant_id = p_tenant AND s.session_id = ANY (p_family) AND s.erased_at IS NULL;
  FOR v_session IN
    SELECT a.place, array_agg(a.kind ORDER BY a.i) AS kinds, string_agg(a.family, '' ORDER BY a.i) AS families,
           array_agg(a.version ORDER BY a.i) AS versions, array_agg(a.payload ORDER BY a.i) AS payloads,
           array_agg(a.salt ORDER BY a.i) AS salts, array_agg(a.line ORDER BY a.i) AS lines, count(*)::int AS rows
      FROM unnest(p_places, p_kinds, p_families, p_versions, p_payloads, p_salts, p_lines)
           WITH ORDINALITY AS a(place, kind, family, version, payload, salt, line, i)
     GROUP BY a.place
  LOOP
    PERFORM ledger.append_v1(
      p_tenant, v_session.place, v_session.kinds, v_session.families, v_session.versions,
      array_fill(NULL::bigint, ARRAY[v_session.rows]), array_fill(0, ARRAY[v_session.rows]), v_session.payloads, v_session.salts,
      NULL, NULL, NULL, NULL, NULL, NULL, v_session.lines, NULL, NULL, false, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.redact_v1 TO ledger_app;

-- The record of a call without its digests. It is not unpacked as JSON, for the reason that call_usage gives; the record's own keys stand
-- before others of the same name.
CREATE FUNCTION ledger.without_digests(p_record text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT regexp_replace(regexp_replace(regexp_replace(p_record,
    '"digest": ?("[^"]*"|null)', '"digest":null'), '"prefix_digest": ?("[^"]*"|null)', '"prefix_digest":null'),
    '"nonce": ?("[^"]*"|null)', '"nonce":null')
$$;
SET LOCAL ROLE ledger_owner;
