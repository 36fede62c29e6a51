"""Floor 6: the native HTTP routes, their schemas and the one table from error to status.

Handlers read a request, call one service and write its answer; they hold no rule of the domain, no SQL and no database
connection, and they never parse what a provider says. Only this package, `doors` and `main` know the web framework.
"""
