-- Consumes a key, or gives what stands under it. A second request with the key waits here until the first has committed.
-- Part of append_v1 and idempotency_put_v1; its caller has entered the tenant.
CREATE FUNCTION ledger.idempotency_keep(
  p_tenant uuid, p_route text, p_key text, p_request_digest bytea, p_status int, p_body text, p_session uuid, p_turn bigint,
  OUT stored_digest bytea, OUT stored_status int, OUT stored_body text, OUT stored_session uuid, OUT stored_turn bigint,
  OUT recorded_at timestamptz, OUT replayed boolean)
LANGUAGE plpgsql AS $$
BEGIN
  LOOP
    INSERT INTO ledger.idempotency (tenant_id, route, key, request_digest, status, body, session_id, turn)
    VALUES (p_tenant, p_route, p_key, p_request_digest, p_status, p_body, p_session, p_turn)
    ON CONFLICT DO NOTHING;
    replayed := NOT FOUND;
    EXIT WHEN NOT replayed;
    SELECT i.request_digest, i.status, i.body, i.session_id, i.turn, i.created_at
      INTO stored_digest, stored_status, stored_body, stored_session, stored_turn, recorded_at
      FROM ledger.idempotency i WHERE i.tenant_id = p_tenant AND i.route = p_route AND i.key = p_key;
    IF stored_digest <> p_request_digest AND stored_digest <> decode(repeat('00', 32), 'hex') THEN
      RAISE EXCEPTION 'the key names another request' USING ERRCODE = 'LG003';
    END IF;
    EXIT WHEN FOUND;                                            -- else it was purged in between, and the key is free
  END LOOP;
END $$;
