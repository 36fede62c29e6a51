"""The way from any earlier schema to the newest, run by `app.storage.migrate` alone.

A version, once landed, is frozen with the SQL files that it runs. `app/storage/schema` holds the truth, one object a file; a test
builds a database both ways and finds no difference.
"""
