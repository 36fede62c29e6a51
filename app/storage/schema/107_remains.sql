-- What of erased rows the server still holds, as far as it tells: when the tables that hold texts were last vacuumed, how old the oldest
-- snapshot is that keeps dead rows, how much of the log it keeps, and who reads it. Of statistics anybody may read.
CREATE FUNCTION ledger.remains_v1(
  OUT vacuumed_at timestamptz, OUT autovacuum boolean, OUT wal_level text, OUT wal_keep text, OUT max_wal_size text,
  OUT checkpoint_timeout text, OUT archive_mode text, OUT slots bigint)
LANGUAGE sql STABLE AS $$
  SELECT (SELECT min(greatest(t.last_vacuum, t.last_autovacuum)) FROM pg_catalog.pg_stat_user_tables t
           WHERE t.schemaname = 'ledger' AND t.relname IN ('entries', 'blobs', 'sessions', 'turns', 'calls', 'deltas', 'idempotency')),
         current_setting('autovacuum')::boolean, current_setting('wal_level'), current_setting('wal_keep_size'), current_setting('max_wal_size'),
         current_setting('checkpoint_timeout'), current_setting('archive_mode'), (SELECT count(*) FROM pg_catalog.pg_replication_slots)
$$;
GRANT EXECUTE ON FUNCTION ledger.remains_v1 TO ledger_app;
