-- Roles are the cluster's, not the database's: made when missing, by a superuser or by a role with CREATEROLE.
-- owner: owns tables and appends (under row level security) · app: what the service logs in as · relay: works across
-- tenants, by functions alone · eraser: may empty a payload, once · reader: reads one tenant at a time · backup: reads all
-- rows, because a dump by the owner under forced row level security is empty.
DO $$
DECLARE
  v_role text;
BEGIN
  FOREACH v_role IN ARRAY ARRAY['ledger_owner', 'ledger_relay', 'ledger_eraser', 'ledger_app', 'ledger_reader', 'ledger_backup'] LOOP
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = v_role) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I %s NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE', v_role,
                       CASE WHEN v_role IN ('ledger_app', 'ledger_reader', 'ledger_backup') THEN 'LOGIN' ELSE 'NOLOGIN' END);
      EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL;                                                   -- another database of the cluster was migrated at the same time
      END;
    END IF;
    IF v_role IN ('ledger_owner', 'ledger_relay', 'ledger_eraser')
       AND NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
      EXECUTE format('GRANT %I TO %I', v_role, current_user);
    END IF;
  END LOOP;
END $$;
