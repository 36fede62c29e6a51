-- By name: one revision, by default the newest, or (p_after_revision) a page of revisions. Without a name: the newest of each agent
-- behind p_after_name.
CREATE FUNCTION ledger.agents_v2(p_tenant uuid, p_name text, p_revision int, p_after_name text, p_after_revision int, p_max int)
RETURNS TABLE (name text, revision int, latest int, document text, limits text, resolved_tools text, digest bytea, created_at timestamptz)
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  RETURN QUERY
  SELECT r.name, r.revision, a.latest, r.document::text, r.limits::text, r.resolved_tools::text, r.digest, r.created_at
    FROM ledger.agents a
    JOIN ledger.agent_revisions r ON r.tenant_id = a.tenant_id AND r.name = a.name
   WHERE a.tenant_id = p_tenant
     AND (p_name IS NULL OR a.name = p_name)
     AND (p_after_name IS NULL OR a.name > p_after_name)
     AND (p_after_revision IS NULL OR r.revision > p_after_revision)
     AND (p_after_revision IS NOT NULL OR r.revision = coalesce(p_revision, a.latest))
   ORDER BY r.name, r.revision LIMIT p_max;
END $$;
GRANT EXECUTE ON FUNCTION ledger.agents_v2 TO ledger_app, ledger_reader;
