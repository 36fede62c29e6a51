-- Whether metadata has each of these texts under these keys. A document that Postgres cannot unpack (NUL, lone surrogates) holds none.
CREATE FUNCTION ledger.metadata_holds(p_metadata json, p_keys text[], p_values text[]) RETURNS boolean
LANGUAGE sql STABLE
RETURN CASE WHEN p_metadata::text ~ '\\u(0000|[dD][89a-fA-F])' THEN false
            ELSE (SELECT bool_and(p_metadata ->> w.key IS NOT DISTINCT FROM w.value) FROM unnest(p_keys, p_values) AS w(key, value)) END;
GRANT EXECUTE ON FUNCTION ledger.metadata_holds TO ledger_app, ledger_reader;
