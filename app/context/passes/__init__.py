"""Passes of floor 2, in the order in which `compile` runs them.

skills, reasoning, pairing, tool_call_ids, fitting, text_tools, receipts, adjacency, binding, rounds, measure

Each is a pure function over the finished draft and changes it through its verbs alone; none reads a budget.
"""
