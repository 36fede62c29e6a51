-- Bytes by their digest, a set for each session, so that erasing a session never has to ask who else names them.
CREATE TABLE ledger.blobs (
  tenant_id   uuid        NOT NULL,
  session_id  uuid        NOT NULL,
  digest      bytea       NOT NULL CHECK (octet_length(digest) = 32),
  media_type  text        NOT NULL CHECK (length(media_type) BETWEEN 3 AND 255),
  byte_length int         NOT NULL CHECK (byte_length BETWEEN 0 AND 20971520),
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  erased_at   timestamptz,
  body        bytea,                                            -- null only after an erasure
  PRIMARY KEY (tenant_id, session_id, digest),
  FOREIGN KEY (tenant_id, session_id) REFERENCES ledger.sessions,
  CHECK (body IS NULL OR (octet_length(body) = byte_length AND sha256(body) = digest)),
  CHECK ((body IS NULL) = (erased_at IS NOT NULL))
);
ALTER TABLE ledger.blobs ALTER COLUMN body SET STORAGE EXTERNAL; -- media is compressed already

CREATE TRIGGER refuse_mutation BEFORE UPDATE OR DELETE ON ledger.blobs FOR EACH ROW EXECUTE FUNCTION ledger.refuse_mutation();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON ledger.blobs FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_mutation();
ALTER TABLE ledger.blobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.blobs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_reads ON ledger.blobs FOR SELECT USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_stores ON ledger.blobs FOR INSERT TO ledger_owner WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_erases ON ledger.blobs FOR UPDATE TO ledger_eraser USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_restores ON ledger.blobs FOR UPDATE TO ledger_owner USING (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.blobs FOR SELECT TO ledger_backup USING (true);
GRANT SELECT ON ledger.blobs TO ledger_app, ledger_reader, ledger_backup;
GRANT SELECT, UPDATE (body, erased_at) ON ledger.blobs TO ledger_eraser;
