CREATE INDEX entries_folds ON ledger.entries (tenant_id, session_id, kind, seq) WHERE family = 'f';
