"""Handlers, a file a subject, and their rows for the router. Each reads an exchange, asks one service and writes its answer."""
