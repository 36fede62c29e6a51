"""Templates of agent documents (floor 2): Jinja's syntax, a grammar of a few of its forms, and nothing to reach but the data given.

What is output, looped over or compared are keys of plain JSON data; there are no calls, no attributes, no way to make a name up.
`keys` knows what a key is by the schemas, `grammar` what may be written, `sandbox` what runs, `render` is what others use.
Text that a template puts out is never read as a template again. Pure.
"""
