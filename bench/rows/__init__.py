"""The rows of the table, one module a group: each `measure` runs the product beside its limit and returns `Row`s."""
