-- What one call used, as a row of the totals. The record is not unpacked as JSON: what a model or a client wrote in it may be spelled in ways
-- that Postgres refuses. Its own keys come first in it, and a quote inside of a string has a backslash before it.
CREATE FUNCTION ledger.call_usage(c ledger.calls) RETURNS ledger.usage_totals LANGUAGE sql IMMUTABLE AS $$
  SELECT c.tenant_id, c.session_id, c.purpose,
         coalesce(substring(c.record::text FROM '"upstream": ?("(?:[^"\\]|\\.)*")'), '""'),
         coalesce(substring(c.record::text FROM '"model": ?("(?:[^"\\]|\\.)*")'), '""'),
         1::bigint, (c.usage ->> 'source' IS NOT DISTINCT FROM 'estimated')::int::bigint,
         coalesce((c.usage ->> 'input')::bigint, 0), coalesce((c.usage ->> 'cached')::bigint, 0),
         coalesce((c.usage ->> 'cache_write')::bigint, 0), coalesce((c.usage ->> 'output')::bigint, 0),
         coalesce((c.usage ->> 'reasoning')::bigint, 0)
$$;

-- Adds what a call used to the totals of its session. Part of append_v1, under the session's lock.
CREATE FUNCTION ledger.tally_call(p_tenant uuid, p_session uuid, p_call uuid) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO ledger.usage_totals AS t
  SELECT u.* FROM ledger.calls c CROSS JOIN LATERAL ledger.call_usage(c) AS u
   WHERE c.tenant_id = p_tenant AND c.session_id = p_session AND c.call_id = p_call
  ON CONFLICT (tenant_id, session_id, purpose, upstream, model) DO UPDATE
     SET calls = t.calls + excluded.calls, estimated = t.estimated + excluded.estimated, input = t.input + excluded.input,
         cached = t.cached + excluded.cached, cache_write = t.cache_write + excluded.cache_write, output = t.output + excluded.output,
         reasoning = t.reasoning + excluded.reasoning;
END $$;
