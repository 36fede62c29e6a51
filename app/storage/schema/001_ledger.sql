CREATE SCHEMA IF NOT EXISTS ledger AUTHORIZATION ledger_owner;
GRANT USAGE ON SCHEMA ledger TO ledger_app, ledger_reader, ledger_eraser, ledger_relay, ledger_backup;

-- Without IN SCHEMA: per schema a default privilege can only add to what PUBLIC has.
ALTER DEFAULT PRIVILEGES FOR ROLE ledger_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE ledger_relay REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
