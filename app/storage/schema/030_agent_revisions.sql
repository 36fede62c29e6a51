-- Immutable: a session and a recorded call name a revision for good.
CREATE TABLE ledger.agent_revisions (
  tenant_id  uuid        NOT NULL,
  name       text        COLLATE "C" NOT NULL,
  revision   int         NOT NULL CHECK (revision >= 1),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  digest     bytea       NOT NULL CHECK (octet_length(digest) = 32),
  document   json        NOT NULL,
  limits     json        NOT NULL,
  resolved_tools json,
  PRIMARY KEY (tenant_id, name, revision),
  FOREIGN KEY (tenant_id, name) REFERENCES ledger.agents
);

CREATE TRIGGER refuse_mutation BEFORE UPDATE OR DELETE ON ledger.agent_revisions
  FOR EACH ROW EXECUTE FUNCTION ledger.refuse_mutation();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON ledger.agent_revisions
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_mutation();
ALTER TABLE ledger.agent_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.agent_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_reads ON ledger.agent_revisions FOR SELECT USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_revises ON ledger.agent_revisions FOR INSERT TO ledger_owner WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.agent_revisions FOR SELECT TO ledger_backup USING (true);
GRANT SELECT ON ledger.agent_revisions TO ledger_app, ledger_reader, ledger_backup;
