CREATE POLICY tenant_restores ON ledger.blobs FOR UPDATE TO ledger_owner USING (tenant_id = ledger.current_tenant());
