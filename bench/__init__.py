"""Beside the house: what the service costs, as ratios to a limit that is measured in the same run.

`limits` knows nothing of ours; `rows` measures the product beside it, one module a group of rows. Nothing imports this
package, and it may not reach beyond loopback. `python -m bench` prints one table and ends by itself.
"""
