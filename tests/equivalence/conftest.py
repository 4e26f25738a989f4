"""What random programs of few facts need in order to get everywhere."""

from __future__ import annotations

import pytest

from holdfast.maintenance import backward_forward


@pytest.fixture(autouse=True)
def impatient_checks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """B/F begins with one instance of a rule, so that facts have more of them even where there are few."""
    if "backward_instances" not in request.node.name:
        monkeypatch.setattr(backward_forward, "_FIRST", 1)
        monkeypatch.setattr(backward_forward, "_GROWTH", 2)
