-- The rare parts of an append, as append_v1 hands them on; never seen by a client.
CREATE TYPE ledger.append_more AS (
  takeover bigint, release boolean, stop_turn bigint,
  claim json, open json, session json, turn json, settles json, call json, idempotency json, user_state json);
