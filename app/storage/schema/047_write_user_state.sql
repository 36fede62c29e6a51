-- The shared state of the session's user, where it still has the version that the writer saw (0: none was there). p_state null: it stays, and
-- an erasure of it waits for this append, whose entries tell of it. Part of append_v1, under the session's lock and the last lock that it
-- takes; two sessions of one user wait here for one another, and the second finds the first's version. Versions begin with the time, in
-- microseconds: none comes again after an erasure, so nobody takes new state for what he saw before.
CREATE FUNCTION ledger.write_user_state(p_session ledger.sessions, p_expected bigint, p_state text, p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF p_session.user_name IS NULL OR p_expected IS NULL THEN
    RAISE EXCEPTION 'the session has no user, or nothing to share' USING ERRCODE = 'LG005';
  END IF;
  IF p_state IS NULL THEN
    PERFORM FROM ledger.user_states u
      WHERE u.tenant_id = p_session.tenant_id AND u.user_name = p_session.user_name COLLATE "C" AND u.version = p_expected FOR KEY SHARE;
  ELSIF p_expected = 0 THEN
    INSERT INTO ledger.user_states (tenant_id, user_name, version, changed_at, state)
    VALUES (p_session.tenant_id, p_session.user_name, extract(epoch FROM p_now) * 1000000, p_now, p_state::json)
    ON CONFLICT DO NOTHING;
  ELSE
    UPDATE ledger.user_states u SET version = u.version + 1, changed_at = p_now, state = p_state::json
     WHERE u.tenant_id = p_session.tenant_id AND u.user_name = p_session.user_name COLLATE "C" AND u.version = p_expected;
  END IF;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'stale state of the user' USING ERRCODE = 'LG002', DETAIL = p_session.head_seq::text;
  END IF;
END $$;
