-- Turn resources. What a turn did stands in its entries; this row is its life as clients see it.
CREATE TABLE ledger.turns (
  tenant_id  uuid        NOT NULL,
  session_id uuid        NOT NULL,
  number     bigint      NOT NULL CHECK (number >= 1),
  turn_id    uuid        NOT NULL,
  follows    bigint      NOT NULL CHECK (follows >= 0 AND follows < number),   -- 0: the start
  retry_of   bigint      CHECK (retry_of < number),
  input_seq  bigint,
  first_seq  bigint      NOT NULL,                                             -- its entries lie in [first_seq, last_seq]
  last_seq   bigint,
  claims     bigint      NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  settled_at timestamptz,
  status     text        COLLATE "C" NOT NULL,
  options    json,
  error      json,
  pending    json,
  usage      json,
  PRIMARY KEY (tenant_id, session_id, number),
  UNIQUE (tenant_id, session_id, turn_id),
  FOREIGN KEY (tenant_id, session_id) REFERENCES ledger.sessions,
  CHECK ((settled_at IS NULL) = (last_seq IS NULL))
) WITH (fillfactor = 80);

CREATE INDEX turns_siblings ON ledger.turns (tenant_id, session_id, follows, number);

CREATE TRIGGER refuse_delete BEFORE DELETE ON ledger.turns FOR EACH ROW EXECUTE FUNCTION ledger.refuse_mutation();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON ledger.turns FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_mutation();
ALTER TABLE ledger.turns ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.turns FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_reads ON ledger.turns FOR SELECT USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_opens ON ledger.turns FOR INSERT TO ledger_owner WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_changes ON ledger.turns FOR UPDATE TO ledger_owner USING (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.turns FOR SELECT TO ledger_backup USING (true);
CREATE POLICY tenant_erases ON ledger.turns FOR UPDATE TO ledger_eraser USING (tenant_id = ledger.current_tenant());
GRANT SELECT ON ledger.turns TO ledger_app, ledger_reader, ledger_backup;
GRANT SELECT, UPDATE (options, error, pending, usage) ON ledger.turns TO ledger_eraser;
