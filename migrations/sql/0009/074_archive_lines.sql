-- An entry as our own export spells it, byte for byte what `formats.jsonl.write` makes of it, and a line break: body and attributes as texts.
-- concat() leaves a null out and spells what is no text itself, which is faster than a cast.
CREATE FUNCTION ledger.archive_line(e ledger.entries) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN concat(
  '{"seq":', e.seq, ',"kind":"', e.kind, '","version":', e.version,
  ',"turn":', e.turn, CASE WHEN e.turn IS NULL THEN 'null,"message_index":' ELSE ',"message_index":' END,
  e.message_index, CASE WHEN e.message_index IS NULL THEN 'null,"agent":' ELSE ',"agent":' END,
  to_json(e.agent), CASE WHEN e.agent IS NULL THEN 'null,"invocation":' ELSE ',"invocation":' END, e.invocation, ',"tokens":', e.tokens,
  CASE WHEN e.hidden THEN ',"hidden":true,"include_in_context":' ELSE ',"hidden":false,"include_in_context":' END,
  CASE WHEN e.include_in_context THEN 'true,"at":' ELSE 'false,"at":' END,
  CASE WHEN e.at IS NULL THEN 'null' ELSE to_char(e.at AT TIME ZONE 'UTC', '"\""YYYY-MM-DD"T"HH24:MI:SS.US"+00:00\""') END,
  ',"recorded_at":"', to_char(e.recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'), '","digest":"', encode(e.digest, 'hex'),
  '","attributes":', to_json(e.attributes::text), CASE WHEN e.attributes IS NULL THEN 'null,"body":' ELSE ',"body":' END,
  to_json(e.payload::text), CASE WHEN e.payload IS NULL THEN E'null}\n' ELSE E'}\n' END);
GRANT EXECUTE ON FUNCTION ledger.archive_line TO ledger_app, ledger_reader;

-- Every entry of a line (null: of all lines) behind p_after and up to p_at_seq, oldest first, as lines of an export; in rows and to an end
-- as entry_lines_v1 has them. has_blobs: a payload in the row names a blob, which has to stand before it.
CREATE FUNCTION ledger.archive_lines_v1(
  p_tenant uuid, p_session uuid, p_line text, p_after bigint, p_at_seq bigint, p_max int, p_run int, p_bytes int,
  OUT last_seq bigint, OUT entries int, OUT has_blobs boolean, OUT lines text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_left  int := p_max;
  v_bytes bigint := p_bytes;
  v_from  bigint;
  v_piece record;
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  FOR v_piece IN SELECT p.* FROM ledger.pieces(coalesce(p_line, ledger.whole_line(p_tenant, p_session)), p_session, p_at_seq) AS p
                  WHERE p.through_seq > p_after LOOP
    v_from := greatest(v_piece.from_seq, p_after + 1);
    LOOP
      SELECT max(x.seq), count(*), bool_or(x.blobs IS NOT NULL), string_agg(x.line, '')
        INTO last_seq, entries, has_blobs, lines
        FROM (SELECT e.seq, e.blobs, ledger.archive_line(e) AS line
                FROM ledger.entries e
               WHERE e.tenant_id = p_tenant AND e.session_id = v_piece.session_id AND e.seq >= v_from AND e.seq <= v_piece.through_seq
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
GRANT EXECUTE ON FUNCTION ledger.archive_lines_v1 TO ledger_app, ledger_reader;
