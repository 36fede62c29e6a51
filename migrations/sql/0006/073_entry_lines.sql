-- Entries of a line (null: of all lines) that fit, oldest first, as lines of JSON that are joined here, so that a reader has one value to
-- take and not twenty for each. They come in rows of at most p_run entries, because one long text is made more slowly than some short
-- ones, and end after p_max entries, or after the row with which they pass p_bytes; none at all is the end. has_blobs: a payload in the
-- row names a blob, which stands as a reference. Bounds are exclusive but for p_at_seq.
CREATE OR REPLACE FUNCTION ledger.entry_lines_v1(
  p_tenant uuid, p_session uuid, p_line text, p_families text[], p_kinds text[], p_after bigint, p_before bigint, p_at_seq bigint,
  p_hidden boolean, p_max int, p_run int, p_bytes int, OUT last_seq bigint, OUT entries int, OUT has_blobs boolean, OUT lines text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_last  bigint := least(p_before - 1, p_at_seq, 9223372036854775807);
  v_left  int := p_max;
  v_bytes bigint := p_bytes;
  v_from  bigint;
  v_piece record;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  FOR v_piece IN SELECT p.* FROM ledger.pieces(coalesce(p_line, ledger.whole_line(p_tenant, p_session)), p_session, v_last) AS p
                  WHERE p.through_seq > p_after LOOP
    v_from := greatest(v_piece.from_seq, p_after + 1);
    LOOP
      SELECT max(x.seq), count(*), bool_or(x.blobs IS NOT NULL), string_agg(x.line, '')
        INTO last_seq, entries, has_blobs, lines
        FROM (SELECT e.seq, e.blobs, ledger.entry_line(e) AS line
                FROM ledger.entries e
               WHERE e.tenant_id = p_tenant AND e.session_id = v_piece.session_id AND e.seq >= v_from AND e.seq <= v_piece.through_seq
                 AND (p_families IS NULL OR e.family = ANY (p_families)) AND (p_kinds IS NULL OR e.kind = ANY (p_kinds))
                 AND (p_hidden OR NOT e.hidden)
               ORDER BY e.seq LIMIT least(v_left, p_run)) x;
      EXIT WHEN entries = 0;
      RETURN NEXT;
      v_left := v_left - entries;
      v_bytes := v_bytes - octet_length(lines);
      IF v_left = 0 OR v_bytes <= 0 THEN
        RETURN;
      END IF;
      EXIT WHEN entries < p_run;
      v_from := last_seq + 1;
    END LOOP;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.entry_lines_v1 TO ledger_app, ledger_reader;
