-- The pieces of a line, `[[from, through, session], …]`; a null line is one open piece, and a null session the session itself. An object
-- behind them says what a checkpoint covers, and is no piece.
-- In plpgsql so that it is not inlined: under row level security the inlined expressions keep the planner from the whole primary
-- key, and a read of 50 entries then looks at every entry of the tenant.
CREATE FUNCTION ledger.pieces(p_line text, p_session uuid, p_head bigint)
RETURNS TABLE (session_id uuid, from_seq bigint, through_seq bigint)
LANGUAGE plpgsql STABLE ROWS 5 AS $$
BEGIN
  RETURN QUERY
  SELECT coalesce((p.piece ->> 2)::uuid, p_session), (p.piece ->> 0)::bigint, least(coalesce((p.piece ->> 1)::bigint, p_head), p_head)
    FROM json_array_elements(coalesce(p_line, '[[1,null,null]]')::json) AS p(piece)
   WHERE json_typeof(p.piece) = 'array';
END $$;
GRANT EXECUTE ON FUNCTION ledger.pieces TO ledger_app, ledger_reader;
