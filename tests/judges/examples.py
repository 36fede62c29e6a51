"""How many examples a law over bodies tries: few where every change waits for them, as many as are promised where somebody asks.

`make laws` tries the promised 2,000 a dialect, and new ones each time.
"""

import os

from hypothesis import HealthCheck, settings

EXAMPLES = int(os.environ.get("CONTEXT_LEDGER_TEST_EXAMPLES", "800"))
"""Of each dialect. Laws that take longer an example try a part of it."""


def law(part: int = 1) -> settings:
    """Settings for a law: `EXAMPLES` divided by `part`. Ledgers are large on purpose."""
    return settings(max_examples=max(1, EXAMPLES // part), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
