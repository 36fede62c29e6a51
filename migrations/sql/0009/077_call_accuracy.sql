-- How well the input of calls was estimated, by upstream, model and way of counting: what providers reported over what was estimated.
-- Of each tenant's calls since p_since whose input a provider reported; "within" counts those that the estimate with its band covers. A record
-- with an escape that Postgres does not unpack (what a client asked of a summary may have one) is left out.
CREATE OR REPLACE FUNCTION ledger.call_accuracy_v1(p_tenant uuid, p_since timestamptz)
RETURNS TABLE (upstream text, model text, method text, estimator text, error_band float8, calls bigint, within bigint, mean_ratio float8,
               p95_ratio float8)
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT f.upstream, f.model, f.method, f.estimator, f.band, count(*), count(*) FILTER (WHERE f.input <= f.total * (1 + f.band)),
         avg(f.input / f.total), percentile_cont(0.95) WITHIN GROUP (ORDER BY f.input / f.total)
    FROM (
      SELECT c.record ->> 'upstream' AS upstream, c.record ->> 'model' AS model, c.record -> 'budget' ->> 'method' AS method,
             coalesce(c.record ->> 'estimator', '') AS estimator, (c.record -> 'budget' ->> 'error_band')::float8 AS band,
             (c.record -> 'budget' ->> 'total')::float8 AS total, c.input
        FROM (SELECT CASE WHEN c.record::text ~* '\\u(0000|d[89a-f])' THEN '{}'::json ELSE c.record END AS record,
                     (c.usage ->> 'input')::float8 AS input
                FROM ledger.calls c
               WHERE c.tenant_id = p_tenant AND c.created_at >= p_since AND c.usage ->> 'source' = 'reported') c
    ) f
   WHERE f.input > 0 AND f.total > 0
   GROUP BY f.upstream, f.model, f.method, f.estimator, f.band
   ORDER BY f.upstream, f.model, f.method, f.estimator, f.band;
END $$;
GRANT EXECUTE ON FUNCTION ledger.call_accuracy_v1 TO ledger_app, ledger_reader;
