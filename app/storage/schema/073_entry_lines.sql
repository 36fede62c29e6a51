-- An entry as the contract spells it, byte for byte what `entries.wire` makes of it, and a line break. concat() takes half the time of a chain of ||.
CREATE FUNCTION ledger.entry_line(e ledger.entries) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN concat(
  '{"seq":', e.seq, ',"kind":"', e.kind, '","turn":', coalesce(e.turn::text, 'null'), ',"message_index":', coalesce(e.message_index::text, 'null'),
  ',"agent":', CASE WHEN e.agent IS NULL THEN 'null' ELSE to_json(e.agent)::text END, ',"invocation":', e.invocation,
  ',"at":"', to_char(coalesce(e.at, e.recorded_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
  '","digest":"sha256:', encode(e.digest, 'hex'), '","tokens":', e.tokens, ',"hidden":', e.hidden::text,
  ',"include_in_context":', e.include_in_context::text, ',"attributes":', coalesce(e.attributes::text, '{}'),
  ',"body":', coalesce(e.payload::text, 'null'), E'}\n');
GRANT EXECUTE ON FUNCTION ledger.entry_line TO ledger_app, ledger_reader;

-- At most p_max entries of a line (null: of all lines) that fit, oldest first, as lines of JSON that are joined here, so that a reader has
-- one value to take and not twenty for each. One row for each piece of the line that has any. has_blobs: a payload among them names a
-- blob, which stands as a reference. Bounds are exclusive but for p_at_seq.
CREATE FUNCTION ledger.entry_lines_v1(
  p_tenant uuid, p_session uuid, p_line text, p_families text[], p_kinds text[], p_after bigint, p_before bigint, p_at_seq bigint,
  p_hidden boolean, p_max int, OUT last_seq bigint, OUT entries int, OUT has_blobs boolean, OUT lines text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_last  bigint := least(p_before - 1, p_at_seq, 9223372036854775807);
  v_left  int := p_max;
  v_piece record;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  FOR v_piece IN SELECT p.* FROM ledger.pieces(p_line, p_session, v_last) AS p LOOP
    SELECT max(x.seq), count(*), bool_or(x.blobs IS NOT NULL), string_agg(x.line, '')
      INTO last_seq, entries, has_blobs, lines
      FROM (SELECT e.seq, e.blobs, ledger.entry_line(e) AS line
              FROM ledger.entries e
             WHERE e.tenant_id = p_tenant AND e.session_id = v_piece.session_id
               AND e.seq >= greatest(v_piece.from_seq, p_after + 1) AND e.seq <= v_piece.through_seq
               AND (p_families IS NULL OR e.family = ANY (p_families)) AND (p_kinds IS NULL OR e.kind = ANY (p_kinds))
               AND (p_hidden OR NOT e.hidden)
             ORDER BY e.seq LIMIT v_left) x;
    IF entries > 0 THEN
      RETURN NEXT;
      v_left := v_left - entries;
      EXIT WHEN v_left = 0;
    END IF;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.entry_lines_v1 TO ledger_app, ledger_reader;
