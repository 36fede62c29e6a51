REVOKE CREATE ON SCHEMA ledger FROM ledger_relay, ledger_eraser;
