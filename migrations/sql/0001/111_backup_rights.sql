-- `pg_dump --enable-row-security` reads every table, that of the migrations too, which no file here makes, and stops at one it may not read.
GRANT SELECT ON ALL TABLES IN SCHEMA ledger TO ledger_backup;
