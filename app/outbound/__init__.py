"""Floor 4: everything that calls out.

The HTTP client, the guard over addresses, the loop over attempts, providers, and the scripted upstream that answers in
process. The only package that knows httpx. May import formats, models, entries and config; never storage, a service or
the edge. It logs nothing: what happened is in the items that a dispatch yields and in its attempt records.
"""
