-- Entries as the readers hand them out; the reader's own rights and policies apply.
CREATE VIEW ledger.entry_rows WITH (security_invoker = true) AS
SELECT e.tenant_id, e.session_id, e.seq, e.kind, e.version, e.turn, e.message_index, e.agent, e.invocation, e.tokens, e.hidden,
       e.include_in_context, e.attributes::text AS attributes, e.payload::text AS payload, e.payload_digest, e.digest, e.at,
       e.recorded_at, e.blobs, e.line, e.family
  FROM ledger.entries e;
GRANT SELECT ON ledger.entry_rows TO ledger_app, ledger_reader;
