SET LOCAL ROLE ledger_eraser;
-- Goes on with an erasure that erase_v2 began: empties at most p_max entries behind p_after, and once there are none left as many turns, calls
-- and blobs, of these no more than some 16 MiB and one. last_seq: where to go on; null: the session is empty. summaries: how many of the
-- entries were of p_kind. answers: of requests that brought the session in, which no session stands beside; they name it as clients write
-- it, p_name.
CREATE OR REPLACE FUNCTION ledger.erase_more_v1(
  p_tenant uuid, p_session uuid, p_after bigint, p_max int, p_kind text, p_name text,
  OUT last_seq bigint, OUT entries bigint, OUT summaries bigint, OUT blobs bigint, OUT answers bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
DECLARE
  v_now   timestamptz := clock_timestamp();
  v_turns bigint;
  v_calls bigint;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  PERFORM FROM ledger.sessions s WHERE s.tenant_id = p_tenant AND s.session_id = p_session AND s.erased_at IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no erasure was begun' USING ERRCODE = 'LG005';
  END IF;
  blobs := 0;
  answers := 0;
  SELECT max(x.seq) INTO last_seq
    FROM (SELECT e.seq FROM ledger.entries e
           WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.seq > p_after ORDER BY e.seq LIMIT p_max) x;
  WITH emptied AS (
    UPDATE ledger.entries e SET payload = NULL, attributes = NULL, salt = NULL, erased_at = v_now
     WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.seq > p_after AND e.seq <= erase_more_v1.last_seq
       AND e.erased_at IS NULL
    RETURNING e.kind)
  SELECT count(*), count(*) FILTER (WHERE m.kind = p_kind) INTO entries, summaries FROM emptied m;
  IF last_seq IS NOT NULL THEN
    RETURN;
  END IF;
  UPDATE ledger.turns t SET options = NULL, error = NULL, pending = NULL, usage = NULL
   WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.number = ANY (ARRAY(
     SELECT x.number FROM ledger.turns x
      WHERE x.tenant_id = p_tenant AND x.session_id = p_session AND num_nonnulls(x.options, x.error, x.pending, x.usage) > 0 LIMIT p_max));
  GET DIAGNOSTICS v_turns = ROW_COUNT;
  UPDATE ledger.calls c SET record = '{}', attempts = NULL
   WHERE c.tenant_id = p_tenant AND c.session_id = p_session AND c.call_id = ANY (ARRAY(
     SELECT x.call_id FROM ledger.calls x
      WHERE x.tenant_id = p_tenant AND x.session_id = p_session AND (x.attempts IS NOT NULL OR x.record::text <> '{}') LIMIT p_max));
  GET DIAGNOSTICS v_calls = ROW_COUNT;
  UPDATE ledger.blobs b SET body = NULL, erased_at = v_now
   WHERE b.tenant_id = p_tenant AND b.session_id = p_session AND b.digest = ANY (ARRAY(
     SELECT y.digest
       FROM (SELECT x.digest, sum(x.byte_length) OVER (ORDER BY x.digest) - x.byte_length AS bytes_before
               FROM (SELECT o.digest, o.byte_length FROM ledger.blobs o
                      WHERE o.tenant_id = p_tenant AND o.session_id = p_session AND o.erased_at IS NULL ORDER BY o.digest LIMIT p_max) x) y
      WHERE y.bytes_before < 16777216));
  GET DIAGNOSTICS blobs = ROW_COUNT;
  IF v_turns = p_max OR v_calls = p_max OR EXISTS (
       SELECT FROM ledger.blobs b WHERE b.tenant_id = p_tenant AND b.session_id = p_session AND b.erased_at IS NULL) THEN
    last_seq := p_after;                                        -- there may be more
    RETURN;
  END IF;
  UPDATE ledger.idempotency i SET request_digest = decode(repeat('00', 32), 'hex'), body = NULL
   WHERE i.tenant_id = p_tenant AND i.session_id IS NULL AND strpos(i.body, p_name) > 0;
  GET DIAGNOSTICS answers = ROW_COUNT;
  UPDATE ledger.sessions s SET emptied_at = v_now, user_name = NULL WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
END $$;
GRANT EXECUTE ON FUNCTION ledger.erase_more_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
