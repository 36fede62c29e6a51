"""Floor 1: facts about models as data, and what follows from them.

The dated catalogue, the wire rules of each dialect, the resolved target, and the token count. Pure: no database, no
HTTP, no clock, no chance, no event loop, no pydantic. May import `entries`; only `tokens.py` knows tiktoken, and it
reads ranks that an installed package ships: nothing is ever downloaded.
"""
