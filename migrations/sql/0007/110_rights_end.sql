REVOKE CREATE ON SCHEMA ledger FROM ledger_eraser;
