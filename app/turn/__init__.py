"""Floor 2: what a turn does next.

`reading` takes a `life` off a turn's own entries, `decide` says what comes next, by `moves`; `admission` says which calls may run, `plan`
and `recovery` what becomes of controls. Live running, recovery after a crash and taking over on another replica are one loop over it.
May import `entries`, `models` and `config`; never `context`, a format, storage, a clock or chance.
"""
