-- What a person may ask to have erased, under a salt that is erased with it: an erased "yes" cannot be guessed back.
-- Text cannot hold a zero byte, so the mark is unambiguous.
CREATE FUNCTION ledger.payload_digest(p_salt bytea, p_payload text, p_attributes text) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_catalog.sha256(
  p_salt || pg_catalog.convert_to(p_payload, 'UTF8')
  || CASE WHEN p_attributes IS NULL THEN ''::bytea ELSE '\x0061'::bytea || pg_catalog.convert_to(p_attributes, 'UTF8') END);
GRANT EXECUTE ON FUNCTION ledger.payload_digest(bytea, text, text) TO ledger_app, ledger_reader;
