-- What the calls of a session used, by purpose, upstream and model. append_v1 alone adds to it, with the append that first says what a call
-- used; so a read costs the models that a session had, whatever its calls. Rows hold no word of anybody: a model's name is the JSON string
-- that its calls' records hold, since a name may hold what a text column cannot.
CREATE TABLE ledger.usage_totals (
  tenant_id   uuid   NOT NULL,
  session_id  uuid   NOT NULL,
  purpose     text   COLLATE "C" NOT NULL,
  upstream    text   COLLATE "C" NOT NULL,   -- a JSON string, as `model`
  model       text   COLLATE "C" NOT NULL,
  calls       bigint NOT NULL,               -- whose usage is known
  estimated   bigint NOT NULL,               -- of those, the ones whose usage no provider reported
  input       bigint NOT NULL,               -- with cached and cache_write, as output with reasoning
  cached      bigint NOT NULL,
  cache_write bigint NOT NULL,
  output      bigint NOT NULL,
  reasoning   bigint NOT NULL,
  PRIMARY KEY (tenant_id, session_id, purpose, upstream, model)
) WITH (fillfactor = 80);

ALTER TABLE ledger.usage_totals ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.usage_totals FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_reads ON ledger.usage_totals FOR SELECT USING (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_adds ON ledger.usage_totals FOR INSERT TO ledger_owner WITH CHECK (tenant_id = ledger.current_tenant());
CREATE POLICY tenant_changes ON ledger.usage_totals FOR UPDATE TO ledger_owner USING (tenant_id = ledger.current_tenant());
CREATE POLICY backup_reads ON ledger.usage_totals FOR SELECT TO ledger_backup USING (true);
GRANT SELECT ON ledger.usage_totals TO ledger_app, ledger_reader, ledger_backup;
