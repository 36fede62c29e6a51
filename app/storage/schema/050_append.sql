-- The one way to write a session: one statement, one round trip, one transaction, whatever it does. The tenant is an argument and
-- entered here, so that the call works in AUTOCOMMIT behind a pooler.
-- Arrays run along the entries; payloads are text, so that no codec of a driver touches the bytes. p_more holds the rare parts
-- as JSON of numbers, ids and flags; p_documents the texts that belong to them, by place:
--   1 agent · 2 model · 3 title · 4 metadata · 5 user · 6 external_id · 7 options · 8 error · 9 pending · 10 usage of the turn ·
--   11 record · 12 attempts · 13 usage of the call · 14 route · 15 key · 16 body · 17–20 as 7–10, of the turn that is settled beside
-- Raises LG002 stale head (detail: the head) · LG003 key reused · LG004 no session · LG005 ill-formed call · LG006 claimed (detail:
-- the turn's id) · LG007 fence lost · LG009 other tenant · LG010 claim ran out · LG011 exists · LG012 pending (detail: the turn's id).
CREATE FUNCTION ledger.append_v1(
  p_tenant uuid, p_session uuid,
  p_kinds text[], p_families text, p_versions int[], p_turns bigint[], p_tokens int[], p_payloads text[],
  p_flags text, p_agents text[], p_invocations int[], p_attributes text[], p_ats timestamptz[], p_lines text[], p_blob_names text[],
  p_expected_head bigint, p_fence bigint, p_more text, p_documents text[],
  p_event_ns bigint[], p_event_turns bigint[], p_event_bodies text[],
  p_blob_digests bytea[], p_blob_types text[], p_blob_bodies bytea[],
  OUT first_seq bigint, OUT last_seq bigint, OUT head_digest bytea, OUT fence bigint, OUT turn_number bigint,
  OUT message_indexes bigint[], OUT payload_digests bytea[], OUT digests bytea[], OUT recorded_at timestamptz,
  OUT last_event_n bigint, OUT replayed boolean,
  OUT stored_digest bytea, OUT stored_status int, OUT stored_body text, OUT stored_session uuid, OUT stored_turn bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  v_session  ledger.sessions%ROWTYPE;
  v_count    int := coalesce(cardinality(p_payloads), 0);
  v_takeover bigint;
  v_beside   boolean := false;
  v_refuse   boolean := false;
  v_release  boolean := false;
  v_stop     bigint;
  v_claim    json;
  v_open     json;
  v_patch    json;
  v_turn     json;
  v_settles  json;
  v_call     json;
  v_idem     json;
  v_usage    json;
  v_kept     boolean;
  v_opened   bigint;                     -- the number of the turn that this append opens
  v_old_turn bigint;
  v_line     text;
  v_now      timestamptz;
  v_seq      bigint;
  v_turn_at  bigint;
  v_index    bigint;
  v_salt     uuid;
  v_salts    uuid[] := '{}';
  v_turns    bigint[] := p_turns;
  v_flag     text := '0';
BEGIN
  IF v_count > 256 OR length(p_families) <> v_count OR v_count <> ANY (ARRAY[
       coalesce(cardinality(p_kinds), 0), coalesce(cardinality(p_versions), 0), coalesce(cardinality(p_turns), 0),
       coalesce(cardinality(p_tokens), 0), coalesce(length(p_flags), v_count), coalesce(cardinality(p_agents), v_count),
       coalesce(cardinality(p_invocations), v_count), coalesce(cardinality(p_attributes), v_count), coalesce(cardinality(p_ats), v_count),
       coalesce(cardinality(p_lines), v_count), coalesce(cardinality(p_blob_names), v_count)]) THEN
    RAISE EXCEPTION 'an append holds at most 256 entries in arrays of one length' USING ERRCODE = 'LG005';
  END IF;
  PERFORM ledger.enter_tenant(p_tenant);
  replayed := false;
  last_event_n := 0;

  IF p_more IS NOT NULL THEN
    SELECT m.takeover, coalesce(m.beside, false), coalesce(m.refuse_pending, false), coalesce(m.release, false), m.stop_turn,
           m.claim, m.open, m.session, m.turn, m.settles, m.call, m.idempotency
      INTO v_takeover, v_beside, v_refuse, v_release, v_stop, v_claim, v_open, v_patch, v_turn, v_settles, v_call, v_idem
      FROM json_to_record(p_more::json) AS m(takeover bigint, beside boolean, refuse_pending boolean, release boolean, stop_turn bigint,
                                             claim json, open json, session json, turn json, settles json, call json,
                                             idempotency json);
    IF v_idem IS NOT NULL THEN           -- before the session's lock, always, so that two requests cannot wait for one another
      SELECT k.* INTO stored_digest, stored_status, stored_body, stored_session, stored_turn, recorded_at, v_kept
        FROM ledger.idempotency_keep(
          p_tenant, p_documents[14], p_documents[15], decode(v_idem ->> 'request_digest', 'hex'), (v_idem ->> 'status')::int,
          p_documents[16], (v_idem ->> 'session')::uuid, nullif((v_idem ->> 'turn')::bigint, -1)) k;
      IF NOT v_kept THEN
        IF stored_digest <> decode(v_idem ->> 'request_digest', 'hex') THEN
          RAISE EXCEPTION 'the key names another request' USING ERRCODE = 'LG003';
        END IF;
        replayed := true;
        RETURN;
      END IF;
    END IF;
    IF v_open IS NOT NULL THEN
      PERFORM ledger.open_session(p_tenant, p_session, v_open, p_documents);
    END IF;
  END IF;

  -- The row lock is the session's one writer lane: it comes before every decision. NO KEY: a plain FOR UPDATE would also block
  -- the foreign key checks of others.
  SELECT s.* INTO v_session FROM ledger.sessions s
   WHERE s.tenant_id = p_tenant AND s.session_id = p_session FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no such session' USING ERRCODE = 'LG004';
  END IF;
  v_now := clock_timestamp();            -- after the lock was granted
  IF p_expected_head <> v_session.head_seq THEN
    RAISE EXCEPTION 'stale head' USING ERRCODE = 'LG002', DETAIL = v_session.head_seq::text;
  END IF;
  v_old_turn := v_session.claim_turn;
  IF p_fence IS NOT NULL OR v_takeover IS NOT NULL THEN
    IF v_old_turn IS NULL OR v_session.fence <> coalesce(p_fence, v_takeover) THEN
      RAISE EXCEPTION 'another writer took the session over' USING ERRCODE = 'LG007';
    END IF;
  ELSIF v_old_turn IS NOT NULL AND NOT v_beside THEN
    PERFORM ledger.refuse_busy(p_tenant, p_session, v_now);
  END IF;
  IF v_refuse AND v_session.pending_turn IS NOT NULL THEN
    RAISE EXCEPTION 'a turn waits for results' USING ERRCODE = 'LG012', DETAIL = coalesce((
      SELECT t.turn_id::text FROM ledger.turns t
       WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.number = v_session.pending_turn), '');
  END IF;

  first_seq := v_session.head_seq + 1;
  last_seq := v_session.head_seq + v_count;
  recorded_at := v_now;
  IF p_more IS NOT NULL THEN
    IF v_stop IS NOT NULL THEN
      UPDATE ledger.claims c SET stop_requested_at = coalesce(c.stop_requested_at, v_now)
       WHERE c.tenant_id = p_tenant AND c.session_id = p_session AND c.turn = v_stop;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'that turn does not hold the session' USING ERRCODE = 'LG007';
      END IF;
    END IF;
    IF (v_turn ->> 'new')::boolean THEN
      v_opened := v_session.turn_count + 1;
      v_session.turn_count := v_opened;
      v_session.last_turn := v_opened;
    END IF;
    turn_number := coalesce(v_opened, nullif((v_claim ->> 'turn')::bigint, -1), (v_turn ->> 'number')::bigint);
    IF v_turn IS NOT NULL THEN
      PERFORM ledger.write_turn(p_tenant, p_session, coalesce(v_opened, (v_turn ->> 'number')::bigint), v_turn, p_documents[7:10],
                                first_seq, last_seq, v_now);
    END IF;
    IF v_settles IS NOT NULL THEN
      PERFORM ledger.write_turn(p_tenant, p_session, (v_settles ->> 'number')::bigint, v_settles, p_documents[17:20], first_seq, last_seq,
                                v_now);
    END IF;
    IF v_claim IS NOT NULL OR v_release OR v_takeover IS NOT NULL THEN
      IF v_beside OR v_claim IS NULL AND NOT v_release THEN
        RAISE EXCEPTION 'a takeover claims or releases, and never beside a claim' USING ERRCODE = 'LG005';
      END IF;
      IF v_claim IS NOT NULL OR v_takeover IS NOT NULL THEN
        v_session.fence := v_session.fence + 1;
      END IF;
      v_turn_at := coalesce(nullif((v_claim ->> 'turn')::bigint, -1), v_opened);
      last_event_n := ledger.move_claim(p_tenant, p_session, v_old_turn, v_turn_at, v_session.fence, v_claim, v_takeover, v_now);
      v_session.claim_turn := CASE WHEN v_release THEN NULL ELSE v_turn_at END;
      IF v_claim IS NOT NULL AND NOT v_release THEN
        INSERT INTO ledger.claims (tenant_id, session_id, turn, fence, holder, lease_until)
        VALUES (p_tenant, p_session, v_turn_at, v_session.fence, (v_claim ->> 'holder')::uuid,
                v_now + make_interval(secs => (v_claim ->> 'lease_seconds')::float8));
      END IF;
    END IF;
    IF v_call IS NOT NULL THEN
      v_usage := ledger.write_call(p_tenant, p_session, coalesce(nullif((v_call ->> 'turn')::bigint, -1), v_opened), v_call,
                                   p_documents, first_seq, v_now);
    END IF;
    v_session := ledger.patch_session(v_session, v_patch, p_documents, v_call, v_usage);
    IF (v_idem ->> 'turn')::bigint = -1 THEN
      UPDATE ledger.idempotency i SET turn = v_opened
       WHERE i.tenant_id = p_tenant AND i.route = p_documents[14] AND i.key = p_documents[15];
    END IF;
  END IF;
  fence := v_session.fence;

  IF p_blob_digests IS NOT NULL THEN
    INSERT INTO ledger.blobs (tenant_id, session_id, digest, media_type, byte_length, body)
    SELECT p_tenant, p_session, b.digest, b.media_type, octet_length(b.body), b.body
      FROM unnest(p_blob_digests, p_blob_types, p_blob_bodies) AS b(digest, media_type, body)
    ON CONFLICT DO NOTHING;
  END IF;

  head_digest := v_session.head_digest;
  v_seq := v_session.head_seq;
  message_indexes := '{}';
  payload_digests := '{}';
  digests := '{}';
  FOR i IN 1..v_count LOOP
    v_seq := v_seq + 1;
    IF v_turns[i] = -1 THEN
      IF v_opened IS NULL THEN
        RAISE EXCEPTION 'the append opens no turn' USING ERRCODE = 'LG005';
      END IF;
      v_turns[i] := v_opened;
    END IF;
    v_index := NULL;
    IF substr(p_families, i, 1) = 'm' THEN
      v_index := v_session.message_count;
      v_session.message_count := v_index + 1;
    END IF;
    IF p_flags IS NOT NULL THEN
      v_flag := substr(p_flags, i, 1);
    END IF;
    IF p_lines[i] IS NOT NULL THEN
      v_line := p_lines[i];
    END IF;
    v_salt := gen_random_uuid();
    v_salts[i] := v_salt;
    message_indexes[i] := v_index;
    payload_digests[i] := ledger.payload_digest(v_salt, p_payloads[i], p_attributes[i], p_lines[i], p_blob_names[i]);
    head_digest := ledger.link_digest(
      head_digest, v_seq, p_kinds[i], substr(p_families, i, 1), p_versions[i], v_turns[i], v_index, p_agents[i],
      coalesce(p_invocations[i], 0), p_tokens[i], v_flag IN ('1', '3'), v_flag IN ('0', '1'), p_ats[i], v_now, payload_digests[i]);
    digests[i] := head_digest;
  END LOOP;
  IF v_count > 0 THEN
    INSERT INTO ledger.entries (tenant_id, session_id, seq, turn, message_index, at, recorded_at, salt, invocation, tokens, version,
                                hidden, include_in_context, payload_digest, digest, family, kind, agent, payload, attributes, line, blobs)
    SELECT p_tenant, p_session, v_session.head_seq + e.i, e.turn, e.message_index, e.at, v_now, e.salt, coalesce(e.invocation, 0),
           e.tokens, e.version, coalesce(e.flag, '0') IN ('1', '3'), coalesce(e.flag, '0') IN ('0', '1'), e.payload_digest, e.digest,
           e.family, e.kind, e.agent, e.payload::json, e.attributes::json, e.line, e.blobs
      FROM unnest(p_kinds, string_to_array(p_families, NULL), p_versions, v_turns, p_tokens, p_payloads,
                  string_to_array(p_flags, NULL), p_agents, p_invocations, p_attributes, p_ats, p_lines, p_blob_names,
                  message_indexes, v_salts, payload_digests, digests)
           WITH ORDINALITY AS e(kind, family, version, turn, tokens, payload, flag, agent, invocation, attributes, at, line, blobs,
                                message_index, salt, payload_digest, digest, i);
  END IF;
  IF p_event_ns IS NOT NULL THEN
    INSERT INTO ledger.deltas (tenant_id, session_id, turn, n, fence, body)
    SELECT p_tenant, p_session, coalesce(CASE WHEN e.turn = -1 THEN v_opened ELSE e.turn END, turn_number, v_old_turn), e.n,
           v_session.fence, e.body
      FROM unnest(p_event_ns, p_event_turns, p_event_bodies) AS e(n, turn, body);
  END IF;

  IF p_more IS NULL THEN
    UPDATE ledger.sessions s
       SET head_seq = last_seq, head_digest = append_v1.head_digest, message_count = v_session.message_count,
           line = coalesce(v_line, s.line), active_at = v_now, active_on = (v_now AT TIME ZONE 'UTC')::date
     WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
  ELSE
    UPDATE ledger.sessions s
       SET head_seq = last_seq, head_digest = append_v1.head_digest, message_count = v_session.message_count,
           line = coalesce(v_line, s.line), active_at = v_now, active_on = (v_now AT TIME ZONE 'UTC')::date,
           turn_count = v_session.turn_count, last_turn = v_session.last_turn, fence = v_session.fence,
           claim_turn = v_session.claim_turn, pending_turn = v_session.pending_turn,
           dispatched_call = v_session.dispatched_call, dispatched_count = v_session.dispatched_count,
           meta_version = v_session.meta_version, agent = v_session.agent, agent_revision = v_session.agent_revision,
           agent_follows = v_session.agent_follows, model = v_session.model, title = v_session.title, metadata = v_session.metadata,
           usage_input = v_session.usage_input, usage_cached = v_session.usage_cached,
           usage_cache_write = v_session.usage_cache_write, usage_output = v_session.usage_output,
           usage_reasoning = v_session.usage_reasoning, usage_calls = v_session.usage_calls
     WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
  END IF;
END $$;
GRANT EXECUTE ON FUNCTION ledger.append_v1 TO ledger_app;
