ALTER TABLE ledger.sessions ADD COLUMN erased_at timestamptz, ADD COLUMN emptied_at timestamptz, ADD COLUMN prefix_key bytea;
CREATE POLICY tenant_erases ON ledger.sessions FOR UPDATE TO ledger_eraser USING (tenant_id = ledger.current_tenant());
GRANT SELECT, UPDATE (title, user_name, external_id, model, metadata, pending_turn, erased_at, emptied_at, prefix_key)
  ON ledger.sessions TO ledger_eraser;
