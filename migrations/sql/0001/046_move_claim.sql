-- Takes over, takes, moves or releases the session's claim, and counts the turn's holders. Part of append_v1, which has decided
-- already whether the writer may. Gives the greatest event id that an earlier holder of the turn may have used.
CREATE FUNCTION ledger.move_claim(
  p_tenant uuid, p_session uuid, p_old_turn bigint, p_turn bigint, p_claim json, p_takeover bigint, p_now timestamptz)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_claims bigint;
BEGIN
  IF p_takeover IS NOT NULL THEN
    DELETE FROM ledger.claims c
     WHERE c.tenant_id = p_tenant AND c.session_id = p_session AND c.fence = p_takeover
       AND (c.lease_until <= p_now OR c.stop_requested_at <= p_now - interval '5 seconds');
    IF NOT FOUND THEN
      PERFORM ledger.refuse_busy(p_tenant, p_session, p_now);
    END IF;
    IF p_turn IS DISTINCT FROM p_old_turn THEN                   -- the events that settle the old turn are a new holder's too
      UPDATE ledger.turns t SET claims = t.claims + 1
       WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.number = p_old_turn;
    END IF;
  ELSIF p_old_turn IS NOT NULL THEN
    DELETE FROM ledger.claims c WHERE c.tenant_id = p_tenant AND c.session_id = p_session;
  END IF;
  IF p_claim IS NULL THEN
    RETURN 0;
  END IF;
  UPDATE ledger.turns t SET claims = t.claims + 1
   WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.number = p_turn RETURNING t.claims INTO v_claims;
  RETURN coalesce(v_claims - 1, 0) * 1000000;
END $$;
