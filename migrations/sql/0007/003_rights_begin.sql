GRANT CREATE ON SCHEMA ledger TO ledger_eraser;
