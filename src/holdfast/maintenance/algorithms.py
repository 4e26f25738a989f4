"""The algorithms by name, the counters that each keeps, and the choice of one for each hyper-node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from holdfast.arguments import expect
from holdfast.errors import Diagnostic, UsageError
from holdfast.maintenance import backward_forward, dred, dred_counting, dred_ranked, limits, modular, recompute
from holdfast.maintenance.stratum import Stratum
from holdfast.modules import Service
from holdfast.program.model import HyperNode
from holdfast.program.similar import similar
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Algorithm:
    """A way to bring one hyper-node up to date, and its properties."""

    name: str
    maintain: Callable[[Stratum], None]
    modular: Callable[[Stratum], None] | None = None  # the variant with modules; else all rules are treated alike
    keeps_nonrecursive: bool = False  # Cn is correct afterwards
    keeps_recursive: bool = False  # Cr is correct afterwards
    keeps_ranks: bool = False  # ranks and Cw are correct afterwards, where the backend has them
    counts_anew: bool = False  # the counters need not be correct before, whatever the rules and modules were
    nonrecursive_only: bool = False  # refuses recursive rules
    by_module_alone: bool = False  # needs a module that serves the hyper-node alone, and continues from its state
    modules_may_read: bool = False  # `modular` supports modules that read other relations
    passes_marks_on: bool = False  # marked implicit facts mark others: it deletes everything that depends on a deletion

    def with_modules(self, services: Sequence[Service]) -> Callable[[Stratum], None] | None:
        """The procedure for the modules of a hyper-node; None if there are none or it treats all rules alike."""
        if not services or (not self.modules_may_read and any(service.reads for service in services)):
            return None
        return self.modular

    @property
    def needs_counts(self) -> bool:
        """Whether the counters must be correct before."""
        return self.keeps_nonrecursive and not self.counts_anew

    @property
    def needs_ranks(self) -> bool:
        """Whether ranks and Cw of a recursive hyper-node must be correct before."""
        return self.keeps_ranks and not self.counts_anew


ALGORITHMS: Mapping[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            "counting",
            dred_counting.maintain,
            keeps_nonrecursive=True,
            keeps_recursive=True,
            nonrecursive_only=True,
            passes_marks_on=True,
        ),
        Algorithm("dred", dred.maintain, passes_marks_on=True),
        Algorithm(
            "dred-counting",
            dred_counting.maintain,
            modular.maintain,
            keeps_nonrecursive=True,
            keeps_recursive=True,
            passes_marks_on=True,
        ),
        Algorithm(
            "dred-ranked",
            dred_ranked.maintain,
            keeps_nonrecursive=True,
            keeps_recursive=True,
            keeps_ranks=True,
            passes_marks_on=True,
        ),
        Algorithm("backward-forward", backward_forward.maintain),
        Algorithm(
            "backward-forward-counting",
            backward_forward.maintain_counting,
            backward_forward.maintain_modular,
            keeps_nonrecursive=True,
        ),
        Algorithm(
            "recompute",
            recompute.maintain,
            modular.recompute,
            keeps_nonrecursive=True,
            keeps_recursive=True,
            keeps_ranks=True,
            counts_anew=True,
            modules_may_read=True,
        ),
        Algorithm(
            "exact",
            modular.exact,
            modular.exact,
            keeps_nonrecursive=True,
            keeps_recursive=True,
            by_module_alone=True,
            modules_may_read=True,
        ),
    )
}
AUTO = "auto"

LIMITS = Algorithm("limits", limits.maintain)
"""The algorithm of hyper-nodes with limit relations, whatever is requested."""
LIMITS_ANEW = Algorithm("recompute", limits.recompute)
BY_RULES = {name: replace(algorithm, modular=None) for name, algorithm in ALGORITHMS.items() if name != "exact"}
"""The same algorithms, for hyper-nodes where rules have replaced modules."""


STRATEGIES = ("counters", "hyper-node")
"""How rules are removed: their derivations are subtracted from the counters, or, as in ZodiacEdge, their hyper-node is
evaluated from scratch.  Both add rules by semi-naive evaluation of the new rules."""


@dataclass(frozen=True)
class Choice:
    """A default algorithm, exceptions for the hyper-nodes of some relations, and the strategy for removing rules."""

    default: str = AUTO
    of_predicate: Mapping[str, str] = field(default_factory=dict)
    strategy: str = "counters"

    def __post_init__(self) -> None:
        expect(self.of_predicate, Mapping, "the second of a Choice is a dict by relation", '{"path": "dred"}')
        if self.strategy not in STRATEGIES:
            help = f"the strategies are {', '.join(STRATEGIES)}"
            raise UsageError(Diagnostic("E0905", f"unknown strategy {self.strategy}", help=help))
        for name in (self.default, *self.of_predicate.values()):
            if name not in ALGORITHMS and name != AUTO:
                help = similar(str(name), [*ALGORITHMS, AUTO]) or f"the algorithms are {', '.join([*ALGORITHMS, AUTO])}"
                raise UsageError(Diagnostic("E0905", f"unknown algorithm {name}", help=help))

    def named(self, node: HyperNode) -> str:
        """The algorithm chosen for a hyper-node."""
        if not self.of_predicate:
            return self.default
        asked = [self.of_predicate[p] for p in node.predicates if p in self.of_predicate]
        return asked[0] if asked else self.default


def refuse_recursion(node: HyperNode) -> None:
    """Counting alone cannot distinguish a fact that only supports itself from one with real support."""
    if node.is_recursive:
        listed = ", ".join(node.predicates)
        raise UsageError(
            Diagnostic(
                "E0906",
                f"counting cannot maintain {listed}: its rules are recursive",
                node.recursive[0].span,
                help="use dred-counting, backward-forward-counting or auto",
            )
        )


def refuse_ranks(node: HyperNode) -> None:
    """Some engines keep no ranks."""
    raise UsageError(
        Diagnostic(
            "E0917",
            f"dred-ranked cannot maintain {', '.join(node.predicates)}: this engine keeps no ranks",
            node.recursive[0].span,
            help="use dred-counting or backward-forward-counting for it, or leave the choice to auto",
        )
    )


def refuse_company(node: HyperNode) -> None:
    """Only a module that serves a hyper-node alone can determine the exact effect of a change."""
    listed = ", ".join(node.predicates)
    span = node.recursive[0].span if node.recursive else None
    raise UsageError(
        Diagnostic(
            "E0914",
            f"exact cannot maintain {listed}: no module serves all its recursive rules",
            span,
            help="use auto; `holdfast plan` lists the modules and the rules they serve",
        )
    )
