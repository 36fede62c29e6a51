-- PgBouncer refuses these at start-up, so they belong to the roles. enable_seqscan: every statement has its index, and a plan that was
-- made while a table was small must not outlive that. plan_cache_mode: planning a read for its arguments takes longer than the read;
-- functions whose filters may be left out say otherwise for themselves.
-- Set only where they differ: databases of one cluster that are migrated at once would otherwise update one row of the catalogue.
DO $$
DECLARE
  v_row record;
BEGIN
  FOR v_row IN
    SELECT * FROM (VALUES
      ('ledger_app', 'jit', 'off'), ('ledger_app', 'lock_timeout', '5s'), ('ledger_app', 'statement_timeout', '30s'),
      ('ledger_app', 'idle_in_transaction_session_timeout', '15s'), ('ledger_app', 'TimeZone', 'UTC'),
      ('ledger_app', 'enable_seqscan', 'off'), ('ledger_app', 'plan_cache_mode', 'force_generic_plan'),
      ('ledger_reader', 'plan_cache_mode', 'force_generic_plan'), ('ledger_reader', 'enable_seqscan', 'off'), ('ledger_reader', 'jit', 'off'),
      ('ledger_reader', 'statement_timeout', '30s'), ('ledger_reader', 'default_transaction_read_only', 'on'),
      ('ledger_reader', 'TimeZone', 'UTC')) AS s(role, name, value)
     WHERE NOT EXISTS (
       SELECT FROM pg_catalog.pg_db_role_setting d
        WHERE d.setrole = s.role::regrole AND d.setdatabase = 0 AND (s.name || '=' || s.value) = ANY (d.setconfig))
  LOOP
    EXECUTE format('ALTER ROLE %I SET %s = %L', v_row.role, v_row.name, v_row.value);
  END LOOP;
END $$;
