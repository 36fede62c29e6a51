-- What the calls of a session used, a row for each purpose, upstream and model.
CREATE FUNCTION ledger.usage_v1(p_tenant uuid, p_session uuid)
RETURNS TABLE (purpose text, upstream text, model text, calls bigint, estimated bigint, input bigint, cached bigint, cache_write bigint,
               output bigint, reasoning bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT t.purpose, t.upstream, t.model, t.calls, t.estimated, t.input, t.cached, t.cache_write, t.output, t.reasoning
    FROM ledger.usage_totals t WHERE t.tenant_id = p_tenant AND t.session_id = p_session
   ORDER BY t.purpose, t.upstream, t.model;
END $$;
GRANT EXECUTE ON FUNCTION ledger.usage_v1 TO ledger_app, ledger_reader;
