-- The ledger itself. Rows are only ever added, by append_v1 alone. SQL knows an entry's family letter, never what a kind means.
CREATE TABLE ledger.entries (
  tenant_id          uuid        NOT NULL,
  session_id         uuid        NOT NULL,
  seq                bigint      NOT NULL CHECK (seq >= 1),
  turn               bigint      CHECK (turn >= 1),
  message_index      bigint      CHECK (message_index >= 0),
  at                 timestamptz CHECK (isfinite(at)),           -- the original time of an import
  recorded_at        timestamptz NOT NULL,
  erased_at          timestamptz,
  salt               uuid,                                       -- null only after an erasure, as payload
  invocation         int         NOT NULL,
  tokens             int         NOT NULL CHECK (tokens >= 0),
  version            smallint    NOT NULL CHECK (version >= 1),
  hidden             boolean     NOT NULL,
  include_in_context boolean     NOT NULL,
  payload_digest     bytea       NOT NULL CHECK (octet_length(payload_digest) = 32),
  digest             bytea       NOT NULL CHECK (octet_length(digest) = 32),
  family             text        COLLATE "C" NOT NULL CHECK (family IN ('m', 's', 'f', 't')),
  kind               text        COLLATE "C" NOT NULL CHECK (length(kind) BETWEEN 1 AND 40),
  agent              text,
  payload            json        CHECK (octet_length(payload::text) <= 131072),
  attributes         json        CHECK (octet_length(attributes::text) <= 131072),
  line               text,                                       -- the line that this entry sets
  blobs              text,                                       -- digests that the payload names, with blanks between
  PRIMARY KEY (tenant_id, session_id, seq),
  FOREIGN KEY (tenant_id, session_id) REFERENCES ledger.sessions,
  CHECK ((family = 'm') = (message_index IS NOT NULL)),
  CHECK ((payload IS NULL) = (erased_at IS NOT NULL)),
  CHECK ((salt IS NULL) = (erased_at IS NOT NULL))
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);

-- Small: settings are rare beside messages, and lines rarer.
CREATE INDEX entries_settings ON ledger.entries (tenant_id, session_id, kind, seq DESC) WHERE family = 's';
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
