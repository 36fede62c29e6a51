"""Turns: accepting an input, running the one loop, answering actions, settling what a lost process left behind.

`while move := next_move(…): do it` (`loop.py`); everything else here gets a turn into that loop or out of it.
"""
