-- The migration that the database is at.
CREATE FUNCTION ledger.revision_v1() RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  RETURN (SELECT v.version_num FROM ledger.alembic_version v);
END $$;
GRANT EXECUTE ON FUNCTION ledger.revision_v1 TO ledger_app, ledger_reader;
