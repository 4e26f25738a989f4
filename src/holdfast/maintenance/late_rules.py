"""Rules that wait: where the facts of a round mean much work for a rule, the other rules go on without it first.

It then sees at once what it would otherwise get round by round.  One large join takes less time than many small ones:
more of its heads are alike, and it can begin with the other atoms of its body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.backends.protocol import Facts
from holdfast.plans import Planner
from holdfast.program.model import Rule


class LateRules:
    """The recursive rules of a hyper-node, some of which wait."""

    def __init__(self, planner: Planner, rules: tuple[Rule, ...]) -> None:
        self._planner, self._rules = planner, rules
        self._late = tuple[Rule, ...]()
        self.missed: dict[int, list[Facts]] = {}  # by place, since the same rule may occur twice
        self._few: dict[str, int] = {}  # facts that were no much work for any rule

    def now(self, Δ: Facts) -> tuple[Rule, ...]:
        """The rules that see the facts of a round at once; these facts must not change until the others see them."""
        if not self.missed:
            self._late = self._late_for(Δ.sizes())
        for place in range(len(self._late)):
            self.missed.setdefault(place, []).append(Δ)
        return tuple(rule for rule in self._rules if rule not in self._late) if self._late else self._rules

    def _late_for(self, sizes: Mapping[str, int]) -> tuple[Rule, ...]:
        """The rules that should wait.  While what they join stays as it is, fewer facts are less work for each."""
        if self._planner.scattered and all(size <= self._few.get(name, 0) for name, size in sizes.items()):
            return ()
        late = self._planner.late(sizes, self._rules)
        if not late:
            self._few = dict(sizes)
        return late

    def late(self) -> tuple[Facts, tuple[Rule, ...]]:
        """The next waiting rule with the facts it missed; the others process its output before another one runs."""
        place = next(iter(self.missed))
        return _union(self.missed.pop(place)), (self._late[place],)


def _union(parts: Sequence[Facts]) -> Facts:
    """The union of some sets, in pairs, so that no set is copied often."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return _union(parts[:middle]) | _union(parts[middle:])
