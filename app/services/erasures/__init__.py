"""Erasure of sessions, users and entries; each answers with a receipt of what went, what stays, and what still holds it."""

from app.services.erasures.deleting import Deletions
from app.services.erasures.redacting import FIGURES, Redactions

__all__ = ["FIGURES", "Deletions", "Redactions"]
