-- API keys by the sha256 of their secret. Looked up before a tenant is known, so only the relay's functions see them.
CREATE TABLE ledger.keys (
  key_id     uuid        PRIMARY KEY,
  tenant_id  uuid        NOT NULL,
  digest     bytea       NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz,
  name       text        NOT NULL CHECK (length(name) <= 255),
  scopes     text[]      NOT NULL
);

CREATE INDEX keys_tenant ON ledger.keys (tenant_id, key_id);

ALTER TABLE ledger.keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.keys FORCE ROW LEVEL SECURITY;
CREATE POLICY relay_keys ON ledger.keys TO ledger_relay USING (true) WITH CHECK (true);
CREATE POLICY backup_reads ON ledger.keys FOR SELECT TO ledger_backup USING (true);
GRANT SELECT, INSERT, UPDATE (revoked_at) ON ledger.keys TO ledger_relay;
GRANT SELECT ON ledger.keys TO ledger_backup;
