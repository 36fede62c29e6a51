-- The last of three locks on append-only (grants and policies are the others): it holds for the owner and a superuser too.
-- The eraser may empty a payload or a blob, and change nothing else; the owner may fill an erased blob again, whose bytes its digest proves.
CREATE FUNCTION ledger.refuse_mutation() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_entry record;
BEGIN
  IF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'entries' AND current_user = 'ledger_eraser' THEN
    v_entry := OLD;                                              -- without its texts, so that nobody spells them to compare
    v_entry.payload := NULL;
    v_entry.attributes := NULL;
    v_entry.salt := NULL;
    v_entry.erased_at := NEW.erased_at;
    IF OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL AND v_entry::text = NEW::text THEN
      RETURN NEW;
    END IF;
  ELSIF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'blobs' THEN
    IF ((current_user = 'ledger_eraser' AND OLD.body IS NOT NULL AND NEW.body IS NULL)
        OR (current_user = 'ledger_owner' AND OLD.body IS NULL AND NEW.body IS NOT NULL))
       AND (NEW.tenant_id, NEW.session_id, NEW.digest, NEW.media_type, NEW.byte_length, NEW.created_at)
         = (OLD.tenant_id, OLD.session_id, OLD.digest, OLD.media_type, OLD.byte_length, OLD.created_at) THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'ledger.% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'LG001';
END $$;
