-- Everything of an append but its entries, events and blobs: the stop request, turns, the claim, the call, the patch. Part of append_v1,
-- under the session's lock and after it has decided that the writer may. Gives the session's row, which append_v1 writes once.
CREATE OR REPLACE FUNCTION ledger.write_more(
  p_session ledger.sessions, p_more ledger.append_more, p_documents text[], p_last_seq bigint, p_now timestamptz,
  OUT session ledger.sessions, OUT opened bigint, OUT turn_number bigint, OUT last_event_n bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  v_first bigint := p_session.head_seq + 1;
  v_turn  bigint;                         -- that the claim is for
  v_usage json;
BEGIN
  session := p_session;
  IF p_more.stop_turn IS NOT NULL THEN
    UPDATE ledger.claims c SET stop_requested_at = coalesce(c.stop_requested_at, p_now)
     WHERE c.tenant_id = session.tenant_id AND c.session_id = session.session_id AND c.turn = p_more.stop_turn;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'that turn does not hold the session' USING ERRCODE = 'LG007';
    END IF;
  END IF;
  IF (p_more.turn ->> 'new')::boolean THEN
    opened := session.turn_count + 1;
    session.turn_count := opened;
    session.last_turn := opened;
  END IF;
  turn_number := coalesce(opened, nullif((p_more.claim ->> 'turn')::bigint, -1), (p_more.turn ->> 'number')::bigint);
  IF p_more.turn IS NOT NULL THEN
    PERFORM ledger.write_turn(session.tenant_id, session.session_id, coalesce(opened, (p_more.turn ->> 'number')::bigint), p_more.turn,
                              p_documents[7:10], v_first, p_last_seq, p_now);
  END IF;
  IF p_more.settles IS NOT NULL THEN
    PERFORM ledger.write_turn(session.tenant_id, session.session_id, (p_more.settles ->> 'number')::bigint, p_more.settles,
                              p_documents[17:20], v_first, p_last_seq, p_now);
  END IF;
  IF p_more.claim IS NOT NULL OR p_more.release OR p_more.takeover IS NOT NULL THEN
    IF p_more.claim IS NULL AND p_more.release IS NOT TRUE THEN
      RAISE EXCEPTION 'a takeover claims or releases' USING ERRCODE = 'LG005';
    END IF;
    IF p_more.claim IS NOT NULL OR p_more.takeover IS NOT NULL THEN
      session.fence := session.fence + 1;
    END IF;
    v_turn := coalesce(nullif((p_more.claim ->> 'turn')::bigint, -1), opened);
    last_event_n := ledger.move_claim(session.tenant_id, session.session_id, session.claim_turn, v_turn, p_more.claim, p_more.takeover, p_now);
    session.claim_turn := CASE WHEN p_more.release THEN NULL ELSE v_turn END;
    IF p_more.claim IS NOT NULL AND p_more.release IS NOT TRUE THEN
      INSERT INTO ledger.claims (tenant_id, session_id, turn, fence, holder, lease_until)
      VALUES (session.tenant_id, session.session_id, v_turn, session.fence, (p_more.claim ->> 'holder')::uuid,
              p_now + make_interval(secs => (p_more.claim ->> 'lease_seconds')::float8));
    END IF;
  END IF;
  IF p_more.call IS NOT NULL THEN
    v_usage := ledger.write_call(session.tenant_id, session.session_id, coalesce(nullif((p_more.call ->> 'turn')::bigint, -1), opened),
                                 p_more.call, p_documents, v_first, p_now);
  END IF;
  IF p_more.user_state IS NOT NULL THEN
    PERFORM ledger.write_user_state(session, (p_more.user_state ->> 'expected_version')::bigint, p_documents[21], p_now);
  END IF;
  session := ledger.patch_session(session, p_more.session, p_documents, p_more.call, v_usage);
  IF (p_more.idempotency ->> 'turn')::bigint = -1 THEN
    UPDATE ledger.idempotency i SET turn = opened
     WHERE i.tenant_id = session.tenant_id AND i.route = p_documents[14] AND i.key = p_documents[15];
  END IF;
END $$;
