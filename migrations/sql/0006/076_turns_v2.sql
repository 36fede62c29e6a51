-- One turn by number or id, or a page of turns behind p_after, all of them or those that follow one; session_id: who holds it. A fork has
-- those of its ancestry too, whose usage stays there. Seqs and numbers rise along an ancestry, so that a number is one turn's.
CREATE FUNCTION ledger.turns_v2(p_tenant uuid, p_session uuid, p_number bigint, p_turn_id uuid, p_follows bigint, p_after bigint, p_max int)
RETURNS TABLE (number bigint, turn_id uuid, status text, follows bigint, retry_of bigint, input_seq bigint, first_seq bigint,
               last_seq bigint, options text, error text, pending text, usage text, claims bigint, created_at timestamptz,
               settled_at timestamptz, session_id uuid)
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
  v_one    boolean := p_number IS NOT NULL OR p_turn_id IS NOT NULL;
  v_shared bigint;                        -- the last turn that a fork shares
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  IF NOT v_one THEN
    v_shared := (SELECT f.turn_count FROM ledger.forks f WHERE f.tenant_id = p_tenant AND f.session_id = p_session);
  END IF;
  IF v_shared IS NULL OR p_after >= v_shared THEN
    RETURN QUERY
    SELECT t.number, t.turn_id, t.status, t.follows, t.retry_of, t.input_seq, t.first_seq, t.last_seq, t.options::text, t.error::text,
           t.pending::text, t.usage::text, t.claims, t.created_at, t.settled_at, t.session_id
      FROM ledger.turns t
     WHERE t.tenant_id = p_tenant AND t.session_id = p_session
       AND (p_number IS NULL OR t.number = p_number)
       AND (p_turn_id IS NULL OR t.turn_id = p_turn_id)
       AND (p_follows IS NULL OR t.follows = p_follows)
       AND t.number > p_after
     ORDER BY t.number LIMIT p_max;
    IF FOUND OR NOT v_one THEN
      RETURN;
    END IF;
  END IF;
  RETURN QUERY
  SELECT x.* FROM ledger.pieces(ledger.whole_line(p_tenant, p_session), p_session, 9223372036854775807) AS p
   CROSS JOIN LATERAL (
     SELECT t.number, t.turn_id, t.status, t.follows, t.retry_of, t.input_seq, t.first_seq, t.last_seq, t.options::text, t.error::text,
            t.pending::text, CASE WHEN t.session_id = p_session THEN t.usage::text END, t.claims, t.created_at, t.settled_at, t.session_id
       FROM ledger.turns t
      WHERE t.tenant_id = p_tenant AND t.session_id = p.session_id AND t.first_seq BETWEEN p.from_seq AND p.through_seq
        AND (p_number IS NULL OR t.number = p_number)
        AND (p_turn_id IS NULL OR t.turn_id = p_turn_id)
        AND (p_follows IS NULL OR t.follows = p_follows)
        AND t.number > p_after AND (p.session_id = p_session OR v_shared IS NULL OR t.number <= v_shared)
      ORDER BY t.number LIMIT p_max) x
   ORDER BY x.number LIMIT p_max;
END $$;
GRANT EXECUTE ON FUNCTION ledger.turns_v2 TO ledger_app, ledger_reader;
