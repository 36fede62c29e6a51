-- What of erased rows the server still holds, as far as it tells: the oldest last vacuum of the tables that hold texts (null where one of
-- them had none), how much of the log it keeps, and how many slots hold more of it. Of statistics anybody may read.
CREATE FUNCTION ledger.remains_v1(
  OUT vacuumed_at timestamptz, OUT autovacuum boolean, OUT wal_level text, OUT wal_keep text, OUT max_wal_size text,
  OUT checkpoint_timeout text, OUT archive_mode text, OUT slots bigint)
LANGUAGE sql STABLE AS $$
  SELECT (SELECT CASE WHEN bool_and(num_nonnulls(t.last_vacuum, t.last_autovacuum) > 0) THEN min(greatest(t.last_vacuum, t.last_autovacuum)) END
            FROM pg_catalog.pg_stat_user_tables t
           WHERE t.schemaname = 'ledger' AND t.relname IN ('entries', 'blobs', 'sessions', 'turns', 'calls', 'deltas', 'idempotency', 'user_states')),
         current_setting('autovacuum')::boolean, current_setting('wal_level'), current_setting('wal_keep_size'), current_setting('max_wal_size'),
         current_setting('checkpoint_timeout'), current_setting('archive_mode'), (SELECT count(*) FROM pg_catalog.pg_replication_slots)
$$;
GRANT EXECUTE ON FUNCTION ledger.remains_v1 TO ledger_app;
