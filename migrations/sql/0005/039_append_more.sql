ALTER TYPE ledger.append_more ADD ATTRIBUTE user_state json;
