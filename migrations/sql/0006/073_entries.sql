-- Entries of a line (null: of all lines) that fit, from one end or the other. Bounds are exclusive but for p_at_seq. Piece by
-- piece, so that a page of a line of many pieces reads no more than a page.
CREATE OR REPLACE FUNCTION ledger.entries_v1(
  p_tenant uuid, p_session uuid, p_line text, p_families text[], p_kinds text[], p_after bigint, p_before bigint, p_at_seq bigint,
  p_hidden boolean, p_descending boolean, p_max int)
RETURNS SETOF ledger.entry_rows LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_last  bigint := least(p_before - 1, p_at_seq, 9223372036854775807);
  v_piece record;
  v_left  int := p_max;
  v_read  int;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  FOR v_piece IN
    SELECT p.* FROM ledger.pieces(coalesce(p_line, ledger.whole_line(p_tenant, p_session)), p_session, v_last) AS p
     WHERE p.from_seq <= p.through_seq AND p.through_seq > p_after
     ORDER BY CASE WHEN p_descending THEN -p.from_seq ELSE p.from_seq END
  LOOP
    IF p_descending THEN
      RETURN QUERY
      SELECT e.* FROM ledger.entry_rows e
       WHERE e.tenant_id = p_tenant AND e.session_id = v_piece.session_id
         AND e.seq >= v_piece.from_seq AND e.seq > p_after AND e.seq <= v_piece.through_seq
         AND (p_families IS NULL OR e.family = ANY (p_families)) AND (p_kinds IS NULL OR e.kind = ANY (p_kinds))
         AND (p_hidden OR NOT e.hidden)
       ORDER BY e.seq DESC LIMIT v_left;
    ELSE
      RETURN QUERY
      SELECT e.* FROM ledger.entry_rows e
       WHERE e.tenant_id = p_tenant AND e.session_id = v_piece.session_id
         AND e.seq >= v_piece.from_seq AND e.seq > p_after AND e.seq <= v_piece.through_seq
         AND (p_families IS NULL OR e.family = ANY (p_families)) AND (p_kinds IS NULL OR e.kind = ANY (p_kinds))
         AND (p_hidden OR NOT e.hidden)
       ORDER BY e.seq LIMIT v_left;
    END IF;
    GET DIAGNOSTICS v_read = ROW_COUNT;
    v_left := v_left - v_read;
    EXIT WHEN v_left = 0;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.entries_v1 TO ledger_app, ledger_reader;
