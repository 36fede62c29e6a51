"""The agent document: a file for each of its parts (`context`, `tools`, `states`, `skills`, `plan`), `check` for the whole, `read` for what a
compile reads of it. Pure like all of floor 2; what only a running service knows (capacities, tool servers) is asked elsewhere.
"""
