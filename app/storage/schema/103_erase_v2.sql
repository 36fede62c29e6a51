SET LOCAL ROLE ledger_eraser;
-- Begins the erasure of a session, or of all sessions of a user with the state that they share: from here on nothing of them is shown, and
-- what lasts a day or less is gone. erase_more_v1 empties the rest; its turns and calls are counted here. All of them or none: LG006 and
-- LG010 where a turn runs, LG014 (detail: a fork) while a fork is not erased that is not among them, LG015 for more than p_max sessions. An
-- erasure that was cut off begins again; LG016 for a session that is empty. FOR UPDATE waits for blobs and answers on their way, which hold KEY SHARE, and so does
-- the end of the shared state for openings that saw it: LG002 where one has come of that, which the next try finds. p_head: the head that the
-- session has to have (null: any), unless its erasure has begun; LG002 for another.
CREATE FUNCTION ledger.erase_v2(
  p_tenant uuid, p_session uuid, p_user text, p_max int, p_head bigint,
  OUT sessions uuid[], OUT erased_at timestamptz, OUT turns bigint, OUT calls bigint, OUT deltas bigint, OUT answers bigint,
  OUT states bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
  v_session record;
  v_fork    uuid;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  erased_at := clock_timestamp();
  sessions := '{}';
  FOR v_session IN
    SELECT s.session_id, s.head_seq, s.claim_turn, s.erased_at, s.emptied_at FROM ledger.sessions s
     WHERE s.tenant_id = p_tenant AND (p_session IS NULL OR s.session_id = p_session) AND (p_session IS NOT NULL OR s.user_name = p_user)
     ORDER BY s.session_id LIMIT p_max + 1 FOR UPDATE
  LOOP
    IF v_session.emptied_at IS NOT NULL THEN
      RAISE EXCEPTION 'the session is erased' USING ERRCODE = 'LG016';
    END IF;
    IF v_session.head_seq <> p_head AND v_session.erased_at IS NULL THEN
      RAISE EXCEPTION 'stale head' USING ERRCODE = 'LG002', DETAIL = v_session.head_seq::text;
    END IF;
    IF v_session.claim_turn IS NOT NULL THEN
      PERFORM ledger.refuse_busy(p_tenant, v_session.session_id, clock_timestamp());
    END IF;
    sessions := sessions || v_session.session_id;
  END LOOP;
  IF p_session IS NOT NULL AND cardinality(sessions) = 0 THEN
    RAISE EXCEPTION 'no such session' USING ERRCODE = 'LG004';
  END IF;
  IF cardinality(sessions) > p_max THEN
    RAISE EXCEPTION 'too many sessions' USING ERRCODE = 'LG015', DETAIL = p_max::text;
  END IF;
  SELECT f.session_id INTO v_fork FROM ledger.sessions f
   WHERE f.tenant_id = p_tenant AND f.parent_session = ANY (sessions) AND f.erased_at IS NULL AND f.session_id <> ALL (sessions) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'a fork is not erased' USING ERRCODE = 'LG014', DETAIL = v_fork::text;
  END IF;

  UPDATE ledger.sessions s
     SET erased_at = coalesce(s.erased_at, erase_v2.erased_at), title = NULL, external_id = NULL, model = NULL, metadata = '{}',
         pending_turn = NULL, prefix_key = NULL
   WHERE s.tenant_id = p_tenant AND s.session_id = ANY (sessions);
  SELECT count(*) INTO turns FROM ledger.turns t WHERE t.tenant_id = p_tenant AND t.session_id = ANY (sessions);
  SELECT count(*) INTO calls FROM ledger.calls c WHERE c.tenant_id = p_tenant AND c.session_id = ANY (sessions);
  DELETE FROM ledger.deltas d WHERE d.tenant_id = p_tenant AND d.session_id = ANY (sessions);
  GET DIAGNOSTICS deltas = ROW_COUNT;
  UPDATE ledger.idempotency i SET request_digest = decode(repeat('00', 32), 'hex'), body = NULL
   WHERE i.tenant_id = p_tenant AND i.session_id = ANY (sessions);
  GET DIAGNOSTICS answers = ROW_COUNT;
  DELETE FROM ledger.user_states u WHERE p_session IS NULL AND u.tenant_id = p_tenant AND u.user_name = p_user COLLATE "C";
  GET DIAGNOSTICS states = ROW_COUNT;
  IF states > 0 AND EXISTS (
       SELECT FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.user_name = p_user AND s.erased_at IS NULL) THEN
    RAISE EXCEPTION 'a session of the user was opened meanwhile' USING ERRCODE = 'LG002', DETAIL = '0';
  END IF;
END $$;
GRANT EXECUTE ON FUNCTION ledger.erase_v2 TO ledger_app;
SET LOCAL ROLE ledger_owner;
