-- In the order in which an append locks them, so that none that is under way and this transaction wait for one another.
LOCK TABLE ledger.idempotency, ledger.sessions IN ACCESS EXCLUSIVE MODE;
