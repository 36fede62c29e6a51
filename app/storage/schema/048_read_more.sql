CREATE FUNCTION ledger.read_more(p_more json) RETURNS ledger.append_more
LANGUAGE sql STABLE
RETURN json_populate_record(NULL::ledger.append_more, p_more);
