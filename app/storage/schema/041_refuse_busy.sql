-- The session is claimed and the writer does not hold it: says by whom, and whether that claim ran out. Part of append_v1.
CREATE FUNCTION ledger.refuse_busy(p_tenant uuid, p_session uuid, p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_lease timestamptz;
  v_stop  timestamptz;
  v_id    uuid;
BEGIN
  SELECT c.lease_until, c.stop_requested_at, t.turn_id INTO v_lease, v_stop, v_id
    FROM ledger.claims c
    LEFT JOIN ledger.turns t ON t.tenant_id = c.tenant_id AND t.session_id = c.session_id AND t.number = c.turn
   WHERE c.tenant_id = p_tenant AND c.session_id = p_session;
  IF v_lease <= p_now OR v_stop <= p_now - interval '5 seconds' THEN
    RAISE EXCEPTION 'the claim ran out' USING ERRCODE = 'LG010';
  END IF;
  RAISE EXCEPTION 'the session is claimed' USING ERRCODE = 'LG006', DETAIL = coalesce(v_id::text, '');
END $$;
GRANT EXECUTE ON FUNCTION ledger.refuse_busy TO ledger_eraser;
