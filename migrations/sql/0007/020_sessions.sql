ALTER TABLE ledger.sessions ADD COLUMN erased_at timestamptz, ADD COLUMN emptied_at timestamptz, ADD COLUMN prefix_key bytea;
CREATE POLICY tenant_erases ON ledger.sessions FOR UPDATE TO ledger_eraser USING (tenant_id = ledger.current_tenant());
GRANT SELECT, UPDATE (title, user_name, external_id, model, metadata, pending_turn, erased_at, emptied_at, prefix_key)
  ON ledger.sessions TO ledger_eraser;
CREATE INDEX sessions_erasing ON ledger.sessions (erased_at) WHERE erased_at IS NOT NULL AND emptied_at IS NULL;
CREATE POLICY relay_sweeps ON ledger.sessions FOR SELECT TO ledger_relay USING (erased_at IS NOT NULL AND emptied_at IS NULL);
GRANT SELECT (tenant_id, session_id, erased_at, emptied_at) ON ledger.sessions TO ledger_relay;
