SET LOCAL ROLE ledger_eraser;
-- erase_v2 at any head, as processes of an earlier release ask for it.
CREATE OR REPLACE FUNCTION ledger.erase_v1(
  p_tenant uuid, p_session uuid, p_user text, p_max int,
  OUT sessions uuid[], OUT erased_at timestamptz, OUT turns bigint, OUT calls bigint, OUT deltas bigint, OUT answers bigint,
  OUT states bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  SELECT e.* INTO sessions, erased_at, turns, calls, deltas, answers, states
    FROM ledger.erase_v2(p_tenant, p_session, p_user, p_max, NULL) e;
END $$;
GRANT EXECUTE ON FUNCTION ledger.erase_v1 TO ledger_app;
SET LOCAL ROLE ledger_owner;
