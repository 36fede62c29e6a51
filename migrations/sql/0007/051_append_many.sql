-- Many plain appends in one transaction, each to a session of its own: entries behind a head, and nothing else. Writes those that nothing
-- stands against and that need not wait. The rest (null in last_seqs) was left alone: the caller sends each of them to append_v1, which
-- waits for the lock, or says what is wrong. So none of a group fails or holds up another, and no two groups wait for one another.
-- Four arrays and p_modes run along the appends (a digit each: 1 may write beside a claim, 2 not while a turn waits for results, 3 both),
-- the others along the entries of all appends; p_places says which append an entry belongs to. A session's second append is left alone.
-- ANY rather than a join, and a generic plan: the primary key is the plan whatever was known of the table when it was made.
CREATE OR REPLACE FUNCTION ledger.append_many_v1(
  p_tenant uuid, p_sessions uuid[], p_expected_heads bigint[], p_fences bigint[], p_modes text, p_places int[],
  p_kinds text[], p_families text, p_versions int[], p_turns bigint[], p_tokens int[], p_payloads text[], p_salts bytea[],
  p_flags text, p_agents text[], p_invocations int[], p_attributes text[], p_ats text[], p_blob_names text[],
  OUT last_seqs bigint[], OUT fences bigint[], OUT message_indexes bigint[], OUT payload_digests bytea[], OUT digests bytea[],
  OUT recorded_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  v_tenant   text;
  v_none     bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_sessions)]);
  v_messages bigint[] := v_none;
  v_heads    bytea[];
  v_seqs     bigint[];
  v_session  record;
  v_place    int;
  v_flag     text := '0';
BEGIN
  IF cardinality(p_places) > 256 OR length(p_families) <> cardinality(p_places) OR translate(p_families, 'msft', '') <> '' THEN
    RAISE EXCEPTION 'a group holds at most 256 entries, each with a family' USING ERRCODE = 'LG005';
  END IF;
  IF current_setting('app.tenant_id', true) NOT IN ('', p_tenant::text) THEN
    RAISE EXCEPTION 'this transaction belongs to another tenant' USING ERRCODE = 'LG009';
  END IF;
  v_tenant := set_config('app.tenant_id', p_tenant::text, true);

  last_seqs := v_none;
  fences := v_none;
  message_indexes := array_fill(NULL::bigint, ARRAY[cardinality(p_places)]);
  payload_digests := array_fill(NULL::bytea, ARRAY[cardinality(p_places)]);
  digests := payload_digests;
  FOR v_session IN
    SELECT l.* FROM (
      SELECT array_position(p_sessions, s.session_id) AS place, s.head_seq, s.head_digest, s.message_count, s.claim_turn, s.fence,
             s.pending_turn
        FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = ANY (p_sessions) AND s.erased_at IS NULL
         FOR NO KEY UPDATE SKIP LOCKED) l
     WHERE (p_expected_heads[l.place] = l.head_seq) IS NOT FALSE
       AND CASE WHEN p_fences[l.place] IS NULL THEN l.claim_turn IS NULL OR substr(p_modes, l.place, 1) IN ('1', '3')
                ELSE l.claim_turn IS NOT NULL AND p_fences[l.place] = l.fence END
       AND (l.pending_turn IS NULL OR substr(p_modes, l.place, 1) IN ('0', '1'))
  LOOP
    last_seqs[v_session.place] := v_session.head_seq;
    fences[v_session.place] := v_session.fence;
    v_messages[v_session.place] := v_session.message_count;
    v_heads[v_session.place] := v_session.head_digest;
  END LOOP;
  recorded_at := clock_timestamp();      -- after the locks were granted

  FOR i IN 1..cardinality(p_places) LOOP
    v_place := p_places[i];
    v_seqs[i] := last_seqs[v_place] + 1;
    IF v_seqs[i] IS NULL THEN
      CONTINUE;
    END IF;
    last_seqs[v_place] := v_seqs[i];
    IF p_flags IS NOT NULL THEN
      v_flag := substr(p_flags, i, 1);
    END IF;
    IF substr(p_families, i, 1) = 'm' THEN
      message_indexes[i] := v_messages[v_place];
      v_messages[v_place] := v_messages[v_place] + 1;
    END IF;
    payload_digests[i] := ledger.payload_digest(p_salts[i], p_payloads[i], p_attributes[i]);
    v_heads[v_place] := ledger.link_digest(
      v_heads[v_place], v_seqs[i], p_kinds[i], substr(p_families, i, 1), p_versions[i], p_turns[i], message_indexes[i], p_agents[i],
      coalesce(p_invocations[i], 0), p_tokens[i], v_flag IN ('1', '3'), v_flag IN ('0', '1'), p_ats[i]::timestamptz, recorded_at,
      NULL, p_blob_names[i], payload_digests[i]);
    digests[i] := v_heads[v_place];
  END LOOP;

  INSERT INTO ledger.entries (tenant_id, session_id, seq, turn, message_index, at, recorded_at, salt, invocation, tokens, version,
                              hidden, include_in_context, payload_digest, digest, family, kind, agent, payload, attributes, blobs)
  SELECT p_tenant, p_sessions[p_places[e.i]], v_seqs[e.i], p_turns[e.i], message_indexes[e.i], p_ats[e.i]::timestamptz, append_many_v1.recorded_at,
         p_salts[e.i], coalesce(p_invocations[e.i], 0), p_tokens[e.i], p_versions[e.i],
         coalesce(substr(p_flags, e.i, 1), '0') IN ('1', '3'), coalesce(substr(p_flags, e.i, 1), '0') IN ('0', '1'),
         payload_digests[e.i], digests[e.i], substr(p_families, e.i, 1), p_kinds[e.i], p_agents[e.i], p_payloads[e.i]::json,
         p_attributes[e.i]::json, p_blob_names[e.i]
    FROM generate_series(1, cardinality(p_places)) AS e(i) WHERE v_seqs[e.i] IS NOT NULL;
  UPDATE ledger.sessions s
     SET head_seq = last_seqs[array_position(p_sessions, s.session_id)], head_digest = v_heads[array_position(p_sessions, s.session_id)],
         message_count = v_messages[array_position(p_sessions, s.session_id)],
         active_at = recorded_at, active_on = (recorded_at AT TIME ZONE 'UTC')::date
   WHERE s.tenant_id = p_tenant AND s.session_id = ANY (p_sessions) AND last_seqs[array_position(p_sessions, s.session_id)] IS NOT NULL;
END $$;
GRANT EXECUTE ON FUNCTION ledger.append_many_v1 TO ledger_app;
