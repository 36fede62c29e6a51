"""Floor 2: what a turn does next.

One pure decision over the turn's own entries; live running, recovery after a crash and taking over on another replica are
one loop over it. May import `entries`, `models` and `config`; never `context`, a format, storage, a clock or chance.
"""
