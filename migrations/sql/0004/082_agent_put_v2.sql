-- The next revision of an agent, unless the newest has that digest already. p_resolved_tools is what tool servers said of tools that the
-- document leaves undescribed; the digest covers it.
CREATE FUNCTION ledger.agent_put_v2(
  p_tenant uuid, p_name text, p_document text, p_limits text, p_resolved_tools text, p_digest bytea,
  OUT name text, OUT revision int, OUT latest int, OUT document text, OUT limits text, OUT resolved_tools text, OUT digest bytea,
  OUT created_at timestamptz, OUT created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
BEGIN
  PERFORM ledger.enter_tenant(p_tenant);
  INSERT INTO ledger.agents (tenant_id, name) VALUES (p_tenant, p_name) ON CONFLICT DO NOTHING;
  SELECT a.latest INTO latest FROM ledger.agents a WHERE a.tenant_id = p_tenant AND a.name = p_name FOR NO KEY UPDATE;
  created := NOT EXISTS (SELECT FROM ledger.agent_revisions r
                          WHERE r.tenant_id = p_tenant AND r.name = p_name AND r.revision = agent_put_v2.latest AND r.digest = p_digest);
  IF created THEN
    latest := latest + 1;
    INSERT INTO ledger.agent_revisions (tenant_id, name, revision, document, limits, resolved_tools, digest)
    VALUES (p_tenant, p_name, agent_put_v2.latest, p_document::json, p_limits::json, p_resolved_tools::json, p_digest);
    UPDATE ledger.agents a SET latest = agent_put_v2.latest WHERE a.tenant_id = p_tenant AND a.name = p_name;
  END IF;
  SELECT r.name, r.revision, r.document::text, r.limits::text, r.resolved_tools::text, r.digest, r.created_at
    INTO name, revision, document, limits, resolved_tools, digest, created_at
    FROM ledger.agent_revisions r WHERE r.tenant_id = p_tenant AND r.name = p_name AND r.revision = agent_put_v2.latest;
END $$;
GRANT EXECUTE ON FUNCTION ledger.agent_put_v2 TO ledger_app;
