GRANT CREATE ON SCHEMA ledger TO ledger_relay, ledger_eraser;
