-- Turns as clients see them: each row with the ids of what it names, its calls and the seqs of its entries, in one statement. By number
-- or id, or a page behind p_after.
CREATE FUNCTION ledger.turn_views_v1(p_tenant uuid, p_session uuid, p_number bigint, p_turn_id uuid, p_after bigint, p_max int)
RETURNS TABLE (number bigint, turn_id uuid, status text, follows bigint, retry_of bigint, input_seq bigint, first_seq bigint,
               last_seq bigint, options text, error text, pending text, usage text, claims bigint, created_at timestamptz,
               settled_at timestamptz, follows_id uuid, retry_of_id uuid, siblings uuid[], calls uuid[], entry_seqs bigint[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT t.*,
         (SELECT f.turn_id FROM ledger.turns f WHERE f.tenant_id = p_tenant AND f.session_id = p_session AND f.number = t.follows),
         (SELECT r.turn_id FROM ledger.turns r WHERE r.tenant_id = p_tenant AND r.session_id = p_session AND r.number = t.retry_of),
         ARRAY(SELECT s.turn_id FROM ledger.turns s
                WHERE s.tenant_id = p_tenant AND s.session_id = p_session AND s.follows = t.follows AND s.number <> t.number
                ORDER BY s.number),
         ARRAY(SELECT c.call_id FROM ledger.calls c
                WHERE c.tenant_id = p_tenant AND c.session_id = p_session AND c.turn = t.number
                ORDER BY c.call_id),
         ARRAY(SELECT e.seq FROM ledger.entries e
                WHERE e.tenant_id = p_tenant AND e.session_id = p_session AND e.turn = t.number
                  AND e.seq BETWEEN t.first_seq AND coalesce(t.last_seq, 9223372036854775807)
                ORDER BY e.seq)
    FROM ledger.turns_v1(p_tenant, p_session, p_number, p_turn_id, NULL, p_after, p_max) t;
END $$;
GRANT EXECUTE ON FUNCTION ledger.turn_views_v1 TO ledger_app, ledger_reader;
