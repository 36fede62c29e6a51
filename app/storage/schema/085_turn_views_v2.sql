-- Turns as clients see them: each row with the ids of what it names, its calls and the seqs of its entries, in one statement. By number
-- or id, or a page behind p_after. What a fork shares is there as in turns_v2; the calls are the session's own.
CREATE FUNCTION ledger.turn_views_v2(p_tenant uuid, p_session uuid, p_number bigint, p_turn_id uuid, p_after bigint, p_max int)
RETURNS TABLE (number bigint, turn_id uuid, status text, follows bigint, retry_of bigint, input_seq bigint, first_seq bigint,
               last_seq bigint, options text, error text, pending text, usage text, claims bigint, created_at timestamptz,
               settled_at timestamptz, session_id uuid, follows_id uuid, retry_of_id uuid, siblings uuid[], calls uuid[], entry_seqs bigint[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_fork boolean;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  v_fork := EXISTS (SELECT FROM ledger.forks f WHERE f.tenant_id = p_tenant AND f.session_id = p_session);
  RETURN QUERY
  SELECT t.*,
         CASE WHEN v_fork AND t.follows > 0
              THEN (SELECT f.turn_id FROM ledger.turns_v2(p_tenant, p_session, t.follows, NULL, NULL, 0, 1) f)
              ELSE (SELECT f.turn_id FROM ledger.turns f WHERE f.tenant_id = p_tenant AND f.session_id = p_session AND f.number = t.follows) END,
         CASE WHEN v_fork AND t.retry_of IS NOT NULL
              THEN (SELECT r.turn_id FROM ledger.turns_v2(p_tenant, p_session, t.retry_of, NULL, NULL, 0, 1) r)
              ELSE (SELECT r.turn_id FROM ledger.turns r WHERE r.tenant_id = p_tenant AND r.session_id = p_session AND r.number = t.retry_of) END,
         CASE WHEN v_fork
              THEN ARRAY(SELECT s.turn_id FROM ledger.turns_v2(p_tenant, p_session, NULL, NULL, t.follows, 0, 2147483647) s
                          WHERE s.number <> t.number ORDER BY s.number)
              ELSE ARRAY(SELECT s.turn_id FROM ledger.turns s
                          WHERE s.tenant_id = p_tenant AND s.session_id = p_session AND s.follows = t.follows AND s.number <> t.number
                          ORDER BY s.number) END,
         ARRAY(SELECT c.call_id FROM ledger.calls c
                WHERE c.tenant_id = p_tenant AND c.session_id = p_session AND c.turn = t.number
                ORDER BY c.call_id),
         ARRAY(SELECT e.seq FROM ledger.entries e
                WHERE e.tenant_id = p_tenant AND e.session_id = t.session_id AND e.turn = t.number
                  AND e.seq BETWEEN t.first_seq AND coalesce(t.last_seq, 9223372036854775807)
                ORDER BY e.seq)
    FROM ledger.turns_v2(p_tenant, p_session, p_number, p_turn_id, NULL, p_after, p_max) t;
END $$;
GRANT EXECUTE ON FUNCTION ledger.turn_views_v2 TO ledger_app, ledger_reader;
