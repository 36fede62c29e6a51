"""Services on a real Postgres, without HTTP."""
