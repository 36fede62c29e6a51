-- What a fork knows from its birth of what it shares, so that no read walks its ancestry. Made with the session's row, and never changed.
-- Its own entries begin behind message_count messages and turn_count turns of its ancestry.
CREATE TABLE ledger.forks (
  tenant_id     uuid        NOT NULL,
  session_id    uuid        NOT NULL,
  message_count bigint      NOT NULL,
  turn_count    bigint      NOT NULL,
  pieces        text        NOT NULL,                           -- its whole ledger, spelled as a line: who holds which seqs
  settings      json        NOT NULL,                           -- {kind: [session, seq]}: the settings entries that were in force
  PRIMARY KEY (tenant_id, session_id),
  FOREIGN KEY (tenant_id, session_id) REFERENCES ledger.sessions
);

CREATE TRIGGER refuse_mutation BEFORE UPDATE OR DELETE ON ledger.forks FOR EACH ROW EXECUTE FUNCTION ledger.refuse_mutation();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON ledger.forks FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_mutation();
ALTER TABLE ledger.forks ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.forks FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_reads ON ledger.forks FOR SELECT USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_opens ON ledger.forks FOR INSERT TO ledger_owner WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.forks FOR SELECT TO ledger_backup USING (true);
GRANT SELECT ON ledger.forks TO ledger_app, ledger_reader, ledger_backup;
