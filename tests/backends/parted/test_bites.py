"""The tests of shards bite: what is deliberately broken is caught by random scripts on shards."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from unittest.mock import patch

import pytest

from holdfast.backends.parted import hubs, placement
from holdfast.backends.parted.balance import Balance
from holdfast.backends.parted.cutting import Cutter
from holdfast.backends.parted.driver import Driver
from holdfast.backends.parted.expanding import Expansion
from holdfast.backends.parted.moving import Moving
from holdfast.backends.parted.partition import routed
from holdfast.backends.parted.placement import Placement
from holdfast.backends.parted.rounds import Round, SegmentRun
from holdfast.backends.parted.shard import Shard
from holdfast.backends.parted.store import PartedBackend

from ...equivalence.mutants import Mutant, broken
from ...equivalence.runs import script_of
from ...equivalence.shard_runs import on_shards
from . import test_hubs
from .test_copies import agree_while_a_relation_grows
from .test_hubs import PATHS, SALES, agree_under_updates, agree_when_values_become_frequent
from .test_sending import agree_with_equal_heads, quotas_hold

pytestmark = [pytest.mark.only_in_memory("that tests bite is shown once"), pytest.mark.many_cases]

ENOUGH = 60  # scripts
CHECKS: tuple[Callable[[], object], ...] = (
    partial(agree_under_updates, SALES, "dred-counting"),
    partial(agree_under_updates, PATHS, "backward-forward"),
    partial(agree_when_values_become_frequent, "dred-ranked"),
    partial(test_hubs.test_a_relation_with_facts_does_not_spread_them_anew, None),
    partial(agree_while_a_relation_grows, "dred"),
    agree_with_equal_heads,
    partial(quotas_hold, 3, 3),
)
MUTANTS = [
    Mutant(*values, policy="", hint=hint)
    for hint, *values in [
        # hubs
        (0, "facts with hubs are placed by all columns of a row", routed, "rows[is_hub, fact]", "rows[is_hub]"),
        (0, "heads pass over hubs", Round._send, "self.shard.spread.get(route.table, NO_HUBS)", "NO_HUBS"),
        (
            2,
            "given facts pass over hubs",
            PartedBackend.facts,
            "routed(codes, primary[p], parts, spreads(p))",
            "routed(codes, primary[p], parts)",
        ),
        (0, "bindings with hubs go one way", Round._send, 'Route("all") if route.kind == "to hubs" else HERE', "HERE"),
        (0, "facts with hubs are taken for whole", Cutter._visit, "is_whole and not self._is_loose", "True"),
        (0, "loose bindings are taken for placed", Cutter._visit, "is_whole and not self._is_loose", "is_whole"),
        (55, "heads of loose bindings stay", Cutter._to_primary, "and not self._is_loose", ""),
        (
            0,
            "heads with hubs stay",
            Placement.to_primary,
            "if is_there and not len(self.spreads(predicate)):",
            "if is_there:",
        ),
        (0, "groups are torn apart", Placement.whole, "if not len(self.spreads(name)):", "if True:"),
        (
            0,
            "a constant hub is on one shard",
            Cutter._by_constant,
            "if code in placement.spreads(",
            "if code in () and (",
        ),
        (0, "plans of no hubs stay", Balance._add, "self._forget_plans()", "pass"),
        (0, "copies of no hubs stay", Balance._add, "placement.stale.update(", "set().update("),
        (0, "relations with facts spread them too", Balance.first_hubs, "if not known.get(relation)", ""),
        (0, "facts that move lose their counters", Moving.finish, "numbers[:, 1], numbers[:, 2]", "0, 0"),
        (0, "facts that move stay", Moving.finish, "table.status[gone] = 0", "pass"),
        (
            0,
            "facts that move lose their ranks",
            Moving.finish,
            "numbers[:, 3], numbers[:, 4]",
            "numbers[:, 0], numbers[:, 0]",
        ),
        (0, "facts that move are still at the beginning", Moving.finish, "kept.take_over(self._name, None)", "pass"),
        # copies
        (
            0,
            "bindings with hubs read two tables",
            SegmentRun.continued_with,
            "(self, bindings[~is_hub])",
            "(self, bindings)",
        ),
        (
            0,
            "bindings with hubs read no copy",
            SegmentRun.continued_with,
            "(self.of_hubs, bindings[is_hub])",
            "(self, bindings[is_hub])",
        ),
        (
            0,
            "copies on all shards are not kept up",
            Placement.copies_of,
            "for table in sorted(self.copies[p])",
            'for table in sorted(self.copies[p]) if table[-1] != "*"',
        ),
        (0, "what has grown too large is read", PartedBackend.prepared, "if self.placement.outgrown:", "if False:"),
        # sending
        (
            0,
            "rows that are not sent at once are lost",
            Round._exchange,
            "return not all(is_done for is_done, _ in came)",
            "return False",
        ),
        (0, "heads that were summed are lost", Round._exchange, "if is_done else ()", "if not is_done else ()"),
        (
            25,
            "heads of which there are many are lost",
            Round._sum_or_send,
            "self._send_sums(predicate, route, sums)",
            "list(sums.taken())",
        ),
        (
            0,
            "what was sent is sent again",
            Round._exchange,
            "self._boxes, [[] for _ in self._boxes], 0",
            "self._boxes, [[*box] for box in self._boxes], 0",
        ),
        (-200003, "bindings of all phases are one", Round._run_phase, "(number, phase + 1) if", "(number, 1) if"),
        # quotas
        (0, "goals that are cut short are exhausted", Expansion._note, "if len(numbers):", "if False:"),
        (
            0,
            "goals of other shards are one's own",
            Expansion._numbered,
            "* self.shard.parts + self.shard.number",
            "* self.shard.parts",
        ),
        # copies, as before
        (
            0,
            "changes are not brought to copies",
            Driver.spread_to_copies,
            "self._bring(facts, placement.copies_of(facts.sizes()))",
            "pass",
        ),
        (0, "copies begin empty", Shard.do_copy, "if len(some):", "if False:"),
    ]
]


def caught(hint: int, enough: int = ENOUGH) -> object:
    """The first check that fails: of many facts with hubs, then of random scripts."""
    with patch.object(hubs, "LEAST", 100):
        for small, check in product((0, 30, 10**6), CHECKS):
            with patch.object(placement, "SMALL", small):
                try:
                    check()
                except Exception:
                    return small, check
    for seed in dict.fromkeys((hint, *range(enough))):
        try:
            on_shards(script_of(seed), seed)
        except Exception:
            return seed
    return None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(mutant: Mutant) -> None:
    with broken(mutant):
        assert caught(mutant.hint) is not None


def test_what_is_whole_is_not_caught() -> None:
    assert caught(2, 2) is None
