-- The ledger itself. Rows are only ever added, by append_v1 alone. SQL knows an entry's family letter, never what a kind means.
-- No foreign key to sessions: append_v1 holds that row's lock whenever it adds one.
CREATE TABLE ledger.entries (
  tenant_id          uuid        NOT NULL,
  session_id         uuid        NOT NULL,
  seq                bigint      NOT NULL,
  turn               bigint,
  message_index      bigint,
  at                 timestamptz,           -- the original time of an import
  recorded_at        timestamptz NOT NULL,
  erased_at          timestamptz,
  salt               bytea,                                      -- null only after an erasure, as payload
  invocation         int         NOT NULL,
  tokens             int         NOT NULL,
  version            smallint    NOT NULL,
  hidden             boolean     NOT NULL,
  include_in_context boolean     NOT NULL,
  payload_digest     bytea       NOT NULL,
  digest             bytea       NOT NULL,
  family             text        COLLATE "C" NOT NULL,
  kind               text        COLLATE "C" NOT NULL,
  agent              text,
  payload            json,
  attributes         json,
  line               text,                                       -- the line that this entry sets
  blobs              text,                                       -- digests that the payload names, with blanks between
  PRIMARY KEY (tenant_id, session_id, seq),
  CHECK (turn >= 1 AND tokens >= 0 AND octet_length(payload::text) <= 131072)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);

-- Small: settings are rare beside messages, folds and lines rarer.
CREATE INDEX entries_settings ON ledger.entries (tenant_id, session_id, kind, seq DESC) WHERE family = 's';
CREATE INDEX entries_folds ON ledger.entries (tenant_id, session_id, kind, seq) WHERE family = 'f';
CREATE INDEX entries_lines ON ledger.entries (tenant_id, session_id, seq DESC) WHERE line IS NOT NULL;

CREATE TRIGGER refuse_mutation BEFORE UPDATE OR DELETE ON ledger.entries FOR EACH ROW EXECUTE FUNCTION ledger.refuse_mutation();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON ledger.entries FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_mutation();
ALTER TABLE ledger.entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.entries FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_reads ON ledger.entries FOR SELECT USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_appends ON ledger.entries FOR INSERT TO ledger_owner WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_erases ON ledger.entries FOR UPDATE TO ledger_eraser USING (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.entries FOR SELECT TO ledger_backup USING (true);
GRANT SELECT ON ledger.entries TO ledger_app, ledger_reader, ledger_backup;
GRANT SELECT, UPDATE (payload, attributes, salt, erased_at) ON ledger.entries TO ledger_eraser;
