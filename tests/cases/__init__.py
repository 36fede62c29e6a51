"""Cases from public bug reports, run against the service.

The cases lie in the shared material (`cases/cases.jsonl`), in a notation of their own. Here stand the adapter that turns the notation
into calls, one check a case, and what a case needs that is not built: the need is looked up in the service, so that a case is
skipped for exactly as long as its reason holds. No case is edited; where one allows a choice, the choice stands beside its check.
"""
