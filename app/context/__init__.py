"""Floor 2: from sources to the neutral model input of one call, and the account of how it came about.

`sources` is what a compile reads, `draft` what compiles, `compile` the order, `renderers` and `passes` the work, `report`
what is told of it, `agents` the document that an agent is made of. Pure: no database, no HTTP, no clock, no chance, no event
loop, no pydantic, and no pass reads a budget. May import `models`, `entries` and `config`; never `turn`, `formats` or above.
"""
