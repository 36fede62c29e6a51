"""Erasure of sessions, users and entries; each answers with a receipt of what went, what stays, and what still holds it."""

from app.services.erasures.deleting import Deletions
from app.services.erasures.redacting import Redactions

__all__ = ["Deletions", "Redactions"]
