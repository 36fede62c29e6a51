"""Part of floor 5: import and export. Everything goes in by `write` and comes out by the ledger's pages.

A session that was imported is found again by its external id. The same file again adds nothing; one that has grown adds what
is new; one that tells another story is refused. Nothing is kept in memory that grows with the ledger.
"""

from app.services.transfers.exports import EXPORT_FORMATS, Exports
from app.services.transfers.imports import IMPORT_FORMATS, Imports

__all__ = ["EXPORT_FORMATS", "IMPORT_FORMATS", "Exports", "Imports"]
