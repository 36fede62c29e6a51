-- The one way to write a session: one statement, one round trip, one transaction, whatever it does. The tenant is an argument and
-- entered here, so that the call works in AUTOCOMMIT behind a pooler.
-- Written for few expressions and statements on the plain path: in AUTOCOMMIT plpgsql prepares each one anew for every call.
-- Arrays run along the entries; payloads and times are text, so that no codec of a driver touches them (the first and the last moment of
-- its calendar are infinities to asyncpg). p_more holds the rare parts
-- as JSON of numbers, ids and flags; p_documents the texts that belong to them, by place:
--   1 agent · 2 model · 3 title · 4 metadata · 5 user · 6 external_id · 7 options · 8 error · 9 pending · 10 usage of the turn ·
--   11 record · 12 attempts · 13 usage of the call · 14 route · 15 key · 16 body · 17–20 as 7–10, of the turn that is settled beside ·
--   21 state of the user
-- Raises LG002 stale head (detail: the head) · LG003 key reused · LG004 no session · LG005 ill-formed call · LG006 claimed (detail:
-- the turn's id) · LG007 fence lost · LG009 other tenant · LG010 claim ran out · LG011 exists · LG012 pending (detail: the turn's id) ·
-- LG013 a fork inside a turn · LG016 erased.
CREATE FUNCTION ledger.append_v1(
  p_tenant uuid, p_session uuid,
  p_kinds text[], p_families text, p_versions int[], p_turns bigint[], p_tokens int[], p_payloads text[], p_salts bytea[],
  p_flags text, p_agents text[], p_invocations int[], p_attributes text[], p_ats text[], p_blob_names text[], p_lines text[],
  p_expected_head bigint, p_fence bigint, p_beside boolean, p_refuse_pending boolean, p_more text, p_documents text[],
  p_event_ns bigint[], p_event_turns bigint[], p_event_bodies text[],
  p_blob_digests bytea[], p_blob_types text[], p_blob_bodies bytea[],
  OUT last_seq bigint, OUT head_digest bytea, OUT fence bigint, OUT turn_number bigint,
  OUT message_indexes bigint[], OUT payload_digests bytea[], OUT digests bytea[], OUT recorded_at timestamptz,
  OUT last_event_n bigint, OUT replayed boolean,
  OUT stored_digest bytea, OUT stored_status int, OUT stored_body text, OUT stored_session uuid, OUT stored_turn bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  v_count    int := cardinality(p_payloads);
  v_turns    bigint[] := p_turns;
  v_more     ledger.append_more;
  v_tenant   text;
  v_head     bigint;
  v_messages bigint;
  v_claimed  bigint;                     -- the turn that holds the session
  v_pending  bigint;
  v_opened   bigint;                     -- the number of the turn that this append opens
  v_family   text;
  v_flag     text := '0';
  v_line     text;
  v_session  ledger.sessions%ROWTYPE;
  v_done     record;
BEGIN
  IF v_count > 256 OR length(p_families) <> v_count OR translate(p_families, 'msft', '') <> '' THEN
    RAISE EXCEPTION 'an append holds at most 256 entries, each with a family' USING ERRCODE = 'LG005';
  END IF;
  IF current_setting('app.tenant_id', true) NOT IN ('', p_tenant::text) THEN
    RAISE EXCEPTION 'this transaction belongs to another tenant' USING ERRCODE = 'LG009';
  END IF;
  v_tenant := set_config('app.tenant_id', p_tenant::text, true);

  IF p_more IS NOT NULL THEN
    v_more := ledger.read_more(p_more::json);
    IF v_more.idempotency IS NOT NULL THEN -- before the session's lock, always, so that two requests cannot wait for one another
      SELECT k.* INTO stored_digest, stored_status, stored_body, stored_session, stored_turn, recorded_at, replayed
        FROM ledger.idempotency_keep(
          p_tenant, p_documents[14], p_documents[15], decode(v_more.idempotency ->> 'request_digest', 'hex'),
          (v_more.idempotency ->> 'status')::int, p_documents[16], (v_more.idempotency ->> 'session')::uuid,
          nullif((v_more.idempotency ->> 'turn')::bigint, -1)) k;
      IF replayed THEN
        RETURN;
      END IF;
    END IF;
    IF v_more.open IS NOT NULL THEN
      PERFORM ledger.open_session(p_tenant, p_session, v_more.open, p_documents);
    END IF;
  END IF;

  -- The row lock is the session's one writer lane: it comes before every decision. NO KEY: a plain FOR UPDATE would also block
  -- the foreign key checks of others.
  SELECT s.head_seq, s.head_digest, s.message_count, s.claim_turn, s.fence, s.pending_turn
    INTO v_head, head_digest, v_messages, v_claimed, fence, v_pending
    FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session AND s.erased_at IS NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    PERFORM ledger.refuse_missing(p_tenant, p_session);
  END IF;
  recorded_at := clock_timestamp();      -- after the lock was granted
  IF p_expected_head <> v_head THEN
    RAISE EXCEPTION 'stale head' USING ERRCODE = 'LG002', DETAIL = v_head::text;
  END IF;
  IF v_claimed IS NOT NULL OR p_fence IS NOT NULL OR v_more.takeover IS NOT NULL THEN
    IF p_fence IS NOT NULL OR v_more.takeover IS NOT NULL THEN
      IF v_claimed IS NULL OR fence <> coalesce(p_fence, v_more.takeover) THEN
        RAISE EXCEPTION 'another writer took the session over' USING ERRCODE = 'LG007';
      END IF;
    ELSIF NOT p_beside THEN
      PERFORM ledger.refuse_busy(p_tenant, p_session, recorded_at);
    END IF;
  END IF;
  IF p_refuse_pending AND v_pending IS NOT NULL THEN
    RAISE EXCEPTION 'a turn waits for results' USING ERRCODE = 'LG012', DETAIL = coalesce((
      SELECT t.turn_id::text FROM ledger.turns t
       WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.number = v_pending), '');
  END IF;
  last_seq := v_head + v_count;

  IF p_more IS NOT NULL THEN
    IF p_beside AND (v_more.claim IS NOT NULL OR v_more.release OR v_more.takeover IS NOT NULL) THEN
      RAISE EXCEPTION 'whoever writes beside a claim moves none' USING ERRCODE = 'LG005';
    END IF;
    SELECT s.* INTO v_session FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
    v_done := ledger.write_more(v_session, v_more, p_documents, last_seq, recorded_at);
    v_session := v_done.session;
    v_opened := v_done.opened;
    turn_number := v_done.turn_number;
    last_event_n := v_done.last_event_n;
    fence := v_session.fence;
    IF -1 = ANY (p_turns) AND v_opened IS NULL THEN
      RAISE EXCEPTION 'the append opens no turn' USING ERRCODE = 'LG005';
    END IF;
    v_turns := array_replace(p_turns, -1, v_opened);
  END IF;

  IF p_lines IS NOT NULL THEN
    v_line := (SELECT l.line FROM unnest(p_lines) WITH ORDINALITY AS l(line, i) WHERE l.line IS NOT NULL ORDER BY l.i DESC LIMIT 1);
  END IF;
  FOR i IN 1..v_count LOOP
    v_family := substr(p_families, i, 1);
    IF p_flags IS NOT NULL THEN
      v_flag := substr(p_flags, i, 1);
    END IF;
    message_indexes[i] := CASE v_family WHEN 'm' THEN v_messages + length(translate(left(p_families, i - 1), 'sft', '')) END;
    payload_digests[i] := ledger.payload_digest(p_salts[i], p_payloads[i], p_attributes[i]);
    head_digest := ledger.link_digest(
      head_digest, v_head + i, p_kinds[i], v_family, p_versions[i], v_turns[i], message_indexes[i], p_agents[i],
      coalesce(p_invocations[i], 0), p_tokens[i], v_flag IN ('1', '3'), v_flag IN ('0', '1'), p_ats[i]::timestamptz, recorded_at,
      p_lines[i], p_blob_names[i], payload_digests[i]);
    digests[i] := head_digest;
  END LOOP;
  IF v_count > 0 THEN
    INSERT INTO ledger.entries (tenant_id, session_id, seq, turn, message_index, at, recorded_at, salt, invocation, tokens, version,
                                hidden, include_in_context, payload_digest, digest, family, kind, agent, payload, attributes, line, blobs)
    SELECT p_tenant, p_session, v_head + e.i, e.turn, e.message_index, e.at::timestamptz, append_v1.recorded_at, e.salt, coalesce(e.invocation, 0),
           e.tokens, e.version, coalesce(e.flag, '0') IN ('1', '3'), coalesce(e.flag, '0') IN ('0', '1'), e.payload_digest, e.digest,
           e.family, e.kind, e.agent, e.payload::json, e.attributes::json, e.line, e.blobs
      FROM unnest(p_kinds, string_to_array(p_families, NULL), p_versions, v_turns, p_tokens, p_payloads,
                  string_to_array(p_flags, NULL), p_agents, p_invocations, p_attributes, p_ats, p_lines, p_blob_names,
                  message_indexes, p_salts, payload_digests, digests)
           WITH ORDINALITY AS e(kind, family, version, turn, tokens, payload, flag, agent, invocation, attributes, at, line, blobs,
                                message_index, salt, payload_digest, digest, i);
  END IF;
  v_messages := v_messages + length(translate(p_families, 'sft', ''));

  IF p_more IS NULL THEN
    UPDATE ledger.sessions s
       SET head_seq = last_seq, head_digest = append_v1.head_digest, message_count = v_messages, line = coalesce(v_line, s.line),
           active_at = recorded_at, active_on = (recorded_at AT TIME ZONE 'UTC')::date
     WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
  ELSE
    UPDATE ledger.sessions s
       SET head_seq = last_seq, head_digest = append_v1.head_digest, message_count = v_messages, line = coalesce(v_line, s.line),
           active_at = recorded_at, active_on = (recorded_at AT TIME ZONE 'UTC')::date,
           turn_count = v_session.turn_count, last_turn = v_session.last_turn, fence = v_session.fence,
           claim_turn = v_session.claim_turn, pending_turn = v_session.pending_turn,
           dispatched_call = v_session.dispatched_call, dispatched_count = v_session.dispatched_count,
           compaction_count = v_session.compaction_count,
           meta_version = v_session.meta_version, agent = v_session.agent, agent_revision = v_session.agent_revision,
           agent_follows = v_session.agent_follows, model = v_session.model, title = v_session.title, metadata = v_session.metadata,
           usage_input = v_session.usage_input, usage_cached = v_session.usage_cached,
           usage_cache_write = v_session.usage_cache_write, usage_output = v_session.usage_output,
           usage_reasoning = v_session.usage_reasoning, usage_calls = v_session.usage_calls
     WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
  END IF;
  IF p_event_ns IS NOT NULL THEN
    INSERT INTO ledger.deltas (tenant_id, session_id, turn, n, fence, body)
    SELECT p_tenant, p_session, coalesce(CASE WHEN e.turn = -1 THEN v_opened ELSE e.turn END, turn_number, v_claimed), e.n,
           append_v1.fence, e.body
      FROM unnest(p_event_ns, p_event_turns, p_event_bodies) AS e(n, turn, body);
  END IF;
  IF p_blob_digests IS NOT NULL THEN
    INSERT INTO ledger.blobs (tenant_id, session_id, digest, media_type, byte_length, body)
    SELECT p_tenant, p_session, b.digest, b.media_type, octet_length(b.body), b.body
      FROM unnest(p_blob_digests, p_blob_types, p_blob_bodies) AS b(digest, media_type, body)
    ON CONFLICT (tenant_id, session_id, digest) DO UPDATE SET body = excluded.body, erased_at = NULL WHERE blobs.erased_at IS NOT NULL;
  END IF;
END $$;
GRANT EXECUTE ON FUNCTION ledger.append_v1 TO ledger_app, ledger_eraser;
