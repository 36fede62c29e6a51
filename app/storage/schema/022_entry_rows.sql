-- Entries as the readers hand them out: first the columns of `Entry`, in the order of its fields, so that they are taken as they stand.
-- The reader's own rights and policies apply.
CREATE VIEW ledger.entry_rows WITH (security_invoker = true) AS
SELECT e.seq, e.kind, e.version, e.turn, e.message_index, e.agent, e.invocation, e.tokens, e.hidden, e.include_in_context,
       e.attributes::text AS attributes, e.payload::text AS payload, e.payload_digest, e.digest, e.at, e.recorded_at, e.blobs,
       e.tenant_id, e.session_id, e.line, e.family
  FROM ledger.entries e;
GRANT SELECT ON ledger.entry_rows TO ledger_app, ledger_reader;
