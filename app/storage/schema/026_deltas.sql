-- What running turns said so far. An ordinary table, because an unlogged one is emptied when Postgres dies with the service.
-- One process writes for all its turns at once, so tenants mix: the functions run as the relay.
CREATE TABLE ledger.deltas (
  tenant_id  uuid        NOT NULL,
  session_id uuid        NOT NULL,
  turn       bigint      NOT NULL,
  n          bigint      NOT NULL CHECK (n >= 1),
  fence      bigint      NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  body       text        NOT NULL,
  PRIMARY KEY (tenant_id, session_id, turn, n, fence)
);

CREATE INDEX deltas_age ON ledger.deltas USING brin (created_at);

ALTER TABLE ledger.deltas ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.deltas FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_logs ON ledger.deltas TO ledger_owner USING (tenant_id = ledger.current_tenant())
  WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY relay_logs ON ledger.deltas TO ledger_relay USING (true) WITH CHECK (true);
CREATE POLICY tenant_erases ON ledger.deltas TO ledger_eraser USING (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.deltas FOR SELECT TO ledger_backup USING (true);
GRANT SELECT, INSERT, DELETE ON ledger.deltas TO ledger_relay;
GRANT SELECT ON ledger.deltas TO ledger_backup;
GRANT SELECT, DELETE ON ledger.deltas TO ledger_eraser;
