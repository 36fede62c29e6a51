-- One row a session, and its writer lane: append_v1 locks it before it decides anything, and allots every counter under the lock.
-- No CHECK constraints here and one on entries: Postgres reads each from the catalogue's text for every statement (they cost an append a
-- quarter of its time), and append_v1 is the only writer. `verify` finds what they would have refused.
-- Nothing that an append changes is indexed, but for active_on, which changes once a day: each append stays a HOT update.
CREATE TABLE ledger.sessions (
  tenant_id         uuid        NOT NULL,
  session_id        uuid        NOT NULL,
  head_seq          bigint      NOT NULL DEFAULT 0,
  message_count     bigint      NOT NULL DEFAULT 0,
  turn_count        bigint      NOT NULL DEFAULT 0,
  last_turn         bigint      NOT NULL DEFAULT 0,             -- of the current line; 0: none
  fence             bigint      NOT NULL DEFAULT 0,             -- rises with each claim, never falls
  claim_turn        bigint,                                     -- mirrors ledger.claims; null: nobody holds the session
  pending_turn      bigint,                                     -- a turn that waits for results
  dispatched_count  bigint      NOT NULL DEFAULT 0,
  meta_version      bigint      NOT NULL DEFAULT 0,
  usage_input       bigint      NOT NULL DEFAULT 0,
  usage_cached      bigint      NOT NULL DEFAULT 0,
  usage_cache_write bigint      NOT NULL DEFAULT 0,
  usage_output      bigint      NOT NULL DEFAULT 0,
  usage_reasoning   bigint      NOT NULL DEFAULT 0,
  usage_calls       bigint      NOT NULL DEFAULT 0,
  created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  active_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  active_on         date        NOT NULL,                       -- the UTC day of active_at
  agent_revision    int,
  agent_follows     boolean     NOT NULL DEFAULT true,
  dispatched_call   uuid,
  head_digest       bytea       NOT NULL DEFAULT '\x0000000000000000000000000000000000000000000000000000000000000000',
  line              text,                                       -- null: the plain line
  agent             text,
  title             text,
  user_name         text,
  external_id       text,
  model             json,
  metadata          json        NOT NULL DEFAULT '{}',
  compaction_count  bigint      NOT NULL DEFAULT 0,             -- calls of that purpose, as dispatched_count counts main ones
  parent_session    uuid,                                       -- a fork's: where it left its parent, and behind which seq
  parent_seq        bigint,
  erased_at         timestamptz,                                -- from then on nothing of it is shown
  emptied_at        timestamptz,                                -- the last of it was gone; until then an erasure that was cut off goes on
  prefix_key        bytea,                                      -- of the digests that bind providers' blocks; a fork has its parent's
  PRIMARY KEY (tenant_id, session_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE UNIQUE INDEX sessions_external ON ledger.sessions (tenant_id, coalesce(user_name, ''), external_id) WHERE external_id IS NOT NULL;
CREATE INDEX sessions_user ON ledger.sessions (tenant_id, user_name) WHERE user_name IS NOT NULL;
CREATE INDEX sessions_active ON ledger.sessions (tenant_id, active_on DESC);
CREATE INDEX sessions_forks ON ledger.sessions (tenant_id, parent_session) WHERE parent_session IS NOT NULL;
CREATE INDEX sessions_erasing ON ledger.sessions (erased_at) WHERE erased_at IS NOT NULL AND emptied_at IS NULL;

CREATE TRIGGER refuse_delete BEFORE DELETE ON ledger.sessions FOR EACH ROW EXECUTE FUNCTION ledger.refuse_mutation();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON ledger.sessions FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_mutation();
ALTER TABLE ledger.sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_reads ON ledger.sessions FOR SELECT USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_opens ON ledger.sessions FOR INSERT TO ledger_owner WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_advances ON ledger.sessions FOR UPDATE TO ledger_owner USING (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.sessions FOR SELECT TO ledger_backup USING (true);
CREATE POLICY tenant_erases ON ledger.sessions FOR UPDATE TO ledger_eraser USING (tenant_id = ledger.current_tenant());
CREATE POLICY relay_sweeps ON ledger.sessions FOR SELECT TO ledger_relay USING (erased_at IS NOT NULL AND emptied_at IS NULL);
GRANT SELECT ON ledger.sessions TO ledger_app, ledger_reader, ledger_backup;
GRANT SELECT, UPDATE (title, user_name, external_id, model, metadata, pending_turn, erased_at, emptied_at, prefix_key)
  ON ledger.sessions TO ledger_eraser;
GRANT SELECT (tenant_id, session_id, erased_at, emptied_at) ON ledger.sessions TO ledger_relay;
