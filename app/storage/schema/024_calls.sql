-- Model calls and their attempts. The record holds what derives the call again, never its body.
CREATE TABLE ledger.calls (
  tenant_id  uuid        NOT NULL,
  session_id uuid        NOT NULL,
  call_id    uuid        NOT NULL,
  turn       bigint      NOT NULL,
  head_seq   bigint      NOT NULL,
  answer_seq bigint,
  step_index int         NOT NULL,
  created_at timestamptz NOT NULL,
  purpose    text        COLLATE "C" NOT NULL,
  status     text        COLLATE "C" NOT NULL,
  record     json        NOT NULL,
  attempts   json,
  usage      json,
  PRIMARY KEY (tenant_id, session_id, call_id),
  FOREIGN KEY (tenant_id, session_id) REFERENCES ledger.sessions
) WITH (fillfactor = 80);

CREATE INDEX calls_turn ON ledger.calls (tenant_id, session_id, turn, call_id);

CREATE TRIGGER refuse_delete BEFORE DELETE ON ledger.calls FOR EACH ROW EXECUTE FUNCTION ledger.refuse_mutation();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON ledger.calls FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_mutation();
ALTER TABLE ledger.calls ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.calls FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_reads ON ledger.calls FOR SELECT USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_opens ON ledger.calls FOR INSERT TO ledger_owner WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_changes ON ledger.calls FOR UPDATE TO ledger_owner USING (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.calls FOR SELECT TO ledger_backup USING (true);
CREATE POLICY tenant_erases ON ledger.calls FOR UPDATE TO ledger_eraser USING (tenant_id = ledger.current_tenant());
GRANT SELECT ON ledger.calls TO ledger_app, ledger_reader, ledger_backup;
GRANT SELECT, UPDATE (record, attempts) ON ledger.calls TO ledger_eraser;
