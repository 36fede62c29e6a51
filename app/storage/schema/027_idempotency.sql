-- Answers under the keys of clients, for a day. Written with the append that they belong to. A request digest of zeros was erased: any
-- request with the key is then taken for the first one.
CREATE TABLE ledger.idempotency (
  tenant_id      uuid        NOT NULL,
  route          text        COLLATE "C" NOT NULL CHECK (length(route) BETWEEN 1 AND 500),
  key            text        COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  request_digest bytea       NOT NULL CHECK (octet_length(request_digest) = 32),
  status         int         NOT NULL,
  session_id     uuid,
  turn           bigint,
  created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  body           text,
  PRIMARY KEY (tenant_id, route, key)
);

CREATE INDEX idempotency_age ON ledger.idempotency USING brin (created_at);
CREATE INDEX idempotency_imports ON ledger.idempotency (tenant_id) WHERE session_id IS NULL;

ALTER TABLE ledger.idempotency ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.idempotency FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_keeps ON ledger.idempotency TO ledger_owner USING (tenant_id = ledger.current_tenant())
  WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY relay_purges ON ledger.idempotency TO ledger_relay USING (true);
CREATE POLICY tenant_erases ON ledger.idempotency TO ledger_eraser USING (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.idempotency FOR SELECT TO ledger_backup USING (true);
GRANT SELECT, DELETE ON ledger.idempotency TO ledger_relay;
GRANT SELECT ON ledger.idempotency TO ledger_backup;
GRANT SELECT, DELETE, UPDATE (request_digest, body) ON ledger.idempotency TO ledger_eraser;
