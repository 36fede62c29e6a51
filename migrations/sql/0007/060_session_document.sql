-- A session with its claim as one JSON text, so that a read of it is one column. JSON columns go in as strings: what a client wrote
-- comes out as it was.
CREATE OR REPLACE FUNCTION ledger.session_document(s ledger.sessions) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT json_build_object(
    'tenant', s.tenant_id, 'session_id', s.session_id, 'head_seq', s.head_seq, 'head_digest', encode(s.head_digest, 'hex'),
    'agent', s.agent, 'agent_revision', s.agent_revision, 'agent_follows', s.agent_follows, 'model', s.model::text, 'title', s.title,
    'metadata', s.metadata::text, 'user', s.user_name, 'external_id', s.external_id, 'line', s.line,
    'message_count', s.message_count, 'turn_count', s.turn_count, 'last_turn', s.last_turn, 'meta_version', s.meta_version,
    'dispatched_call', s.dispatched_call, 'dispatched_count', s.dispatched_count, 'pending_turn', s.pending_turn,
    'running_turn', s.claim_turn, 'fence', s.fence, 'lease_until', c.lease_until, 'stop_requested_at', c.stop_requested_at,
    'created_at', s.created_at, 'active_at', s.active_at, 'compaction_count', s.compaction_count, 'parent_session', s.parent_session,
    'parent_seq', s.parent_seq, 'erased_at', s.erased_at, 'prefix_key', encode(s.prefix_key, 'hex'),
    'usage', json_build_object('input', s.usage_input, 'cached', s.usage_cached, 'cache_write', s.usage_cache_write,
                               'output', s.usage_output, 'reasoning', s.usage_reasoning, 'calls', s.usage_calls)::text)::text
    FROM (SELECT) AS one
    LEFT JOIN ledger.claims c ON c.tenant_id = s.tenant_id AND c.session_id = s.session_id
$$;
GRANT EXECUTE ON FUNCTION ledger.session_document TO ledger_app, ledger_reader;
