"""What a serving process does to itself once it is ready."""

import gc

from app.cli.worker import COLLECTOR_THRESHOLDS, spare_collector


def test_the_collector_leaves_alone_what_was_there_before():
    before = gc.get_threshold()
    try:
        spare_collector()
        assert gc.get_threshold() == COLLECTOR_THRESHOLDS
        assert gc.get_freeze_count() > 10_000
        assert len(gc.get_objects()) < 10_000
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
