-- The totals of the calls that are there. The owner is held to one tenant, so that rule is lifted for this transaction, which holds the tables'
-- locks until it ends: no append can come between.
ALTER TABLE ledger.calls NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ledger.usage_totals NO FORCE ROW LEVEL SECURITY;
INSERT INTO ledger.usage_totals
SELECT u.tenant_id, u.session_id, u.purpose, u.upstream, u.model, sum(u.calls), sum(u.estimated), sum(u.input), sum(u.cached),
       sum(u.cache_write), sum(u.output), sum(u.reasoning)
  FROM ledger.calls c CROSS JOIN LATERAL ledger.call_usage(c) AS u
 WHERE c.usage IS NOT NULL
 GROUP BY u.tenant_id, u.session_id, u.purpose, u.upstream, u.model;
ALTER TABLE ledger.calls FORCE ROW LEVEL SECURITY;
ALTER TABLE ledger.usage_totals FORCE ROW LEVEL SECURITY;
