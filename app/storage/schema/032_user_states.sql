-- The state that the sessions of one user share: the whole scope as its last writer left it, under a version that rises by one with each
-- change. append_v1 alone writes here, together with the entry that tells of the change.
CREATE TABLE ledger.user_states (
  tenant_id  uuid        NOT NULL,
  user_name  text        COLLATE "C" NOT NULL,
  version    bigint      NOT NULL CHECK (version >= 1),
  changed_at timestamptz NOT NULL,
  state      json        NOT NULL,
  PRIMARY KEY (tenant_id, user_name)
);

ALTER TABLE ledger.user_states ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.user_states FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_reads ON ledger.user_states FOR SELECT USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_shares ON ledger.user_states FOR INSERT TO ledger_owner WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_changes ON ledger.user_states FOR UPDATE TO ledger_owner USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_erases ON ledger.user_states FOR DELETE TO ledger_eraser USING (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.user_states FOR SELECT TO ledger_backup USING (true);
GRANT SELECT ON ledger.user_states TO ledger_app, ledger_reader, ledger_backup;
GRANT SELECT, DELETE ON ledger.user_states TO ledger_eraser;
