-- While their functions are made; the last file takes it back.
SET LOCAL ROLE ledger_owner;
GRANT CREATE ON SCHEMA ledger TO ledger_relay, ledger_eraser;
