CREATE TABLE ledger.agents (
  tenant_id  uuid        NOT NULL,
  name       text        COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
  latest     int         NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, name)
);

ALTER TABLE ledger.agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.agents FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_reads ON ledger.agents FOR SELECT USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_names ON ledger.agents TO ledger_owner USING (tenant_id = ledger.current_tenant())
  WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.agents FOR SELECT TO ledger_backup USING (true);
GRANT SELECT ON ledger.agents TO ledger_app, ledger_reader, ledger_backup;
