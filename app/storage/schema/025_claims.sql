-- One row a running turn. Made and deleted by append_v1 under the session's lock; the lease is renewed across tenants by the relay.
-- A claim changes hands by delete and insert, never by update, so that a KEY SHARE lock on it holds a takeover off.
CREATE TABLE ledger.claims (
  tenant_id         uuid        NOT NULL,
  session_id        uuid        NOT NULL,
  turn              bigint      NOT NULL,
  fence             bigint      NOT NULL,
  holder            uuid        NOT NULL,
  lease_until       timestamptz NOT NULL,
  stop_requested_at timestamptz,
  PRIMARY KEY (tenant_id, session_id),
  FOREIGN KEY (tenant_id, session_id) REFERENCES ledger.sessions
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX claims_holder ON ledger.claims (holder);
CREATE INDEX claims_lease ON ledger.claims (lease_until);
CREATE INDEX claims_stop ON ledger.claims (stop_requested_at) WHERE stop_requested_at IS NOT NULL;

ALTER TABLE ledger.claims ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.claims FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_reads ON ledger.claims FOR SELECT USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_claims ON ledger.claims TO ledger_owner USING (tenant_id = ledger.current_tenant())
  WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY relay_renews ON ledger.claims TO ledger_relay USING (true) WITH CHECK (true);
CREATE POLICY backup_reads ON ledger.claims FOR SELECT TO ledger_backup USING (true);
GRANT SELECT ON ledger.claims TO ledger_app, ledger_reader, ledger_backup;
GRANT SELECT, UPDATE (lease_until) ON ledger.claims TO ledger_relay;
GRANT SELECT ON ledger.claims TO ledger_eraser;
