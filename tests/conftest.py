"""What holds for all tests."""

from __future__ import annotations

import pytest

from mercer.index import state
from mercer.index.manner import Manner


@pytest.fixture(scope="session", autouse=True)
def _bounds_are_used():
    """Let `exact` use its bounds, even where a stopwatch would tell it to compare everything."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "fastest", lambda recipe, segments: Manner(len(segments)))
        yield
