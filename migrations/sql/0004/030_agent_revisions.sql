ALTER TABLE ledger.agent_revisions ADD COLUMN resolved_tools json;
