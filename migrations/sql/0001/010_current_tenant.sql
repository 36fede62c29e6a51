-- The tenant that a function has set for its own statement; null outside of one, and then no policy lets anything through.
CREATE FUNCTION ledger.current_tenant() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(pg_catalog.current_setting('app.tenant_id', true), '')::uuid;
GRANT EXECUTE ON FUNCTION ledger.current_tenant() TO ledger_app, ledger_reader, ledger_eraser, ledger_relay, ledger_backup;
