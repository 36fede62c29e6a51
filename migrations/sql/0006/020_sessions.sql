ALTER TABLE ledger.sessions
  ADD COLUMN compaction_count bigint NOT NULL DEFAULT 0,
  ADD COLUMN parent_session uuid,
  ADD COLUMN parent_seq bigint;
CREATE INDEX sessions_forks ON ledger.sessions (tenant_id, parent_session) WHERE parent_session IS NOT NULL;
