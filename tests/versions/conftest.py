"""Ctrl-C raises KeyboardInterrupt here, too."""

from __future__ import annotations

from ..atomic.conftest import interrupts  # noqa: F401  a fixture
