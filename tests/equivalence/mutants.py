"""Deliberately broken copies of the algorithms: one line of one function is another, and the property must notice."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from holdfast.backends.memory import links
from holdfast.backends.memory.counting import MemoryCounting
from holdfast.backends.memory.founded import FoundedHeads
from holdfast.backends.memory.ranks import MemoryRanking
from holdfast.backends.memory.virtual import VirtualTables
from holdfast.backends.memory.window import module as window_module
from holdfast.backends.memory.window import stratum as window
from holdfast.backends.memory.window.versions import Versions
from holdfast.maintenance import (
    backward_forward,
    dred,
    dred_counting,
    ledger,
    marking,
    modular,
    node_plans,
    recompute,
    seminaive,
    stratum,
    walk,
)
from holdfast.maintenance.agenda import Agenda
from holdfast.maintenance.dred_ranked import RankedStratum
from holdfast.maintenance.ledger import Ledger
from holdfast.maintenance.maintainer import Maintainer
from holdfast.maintenance.module_adapter import ModuleAdapter, States
from holdfast.maintenance.stratum import Stratum
from holdfast.maintenance.transaction import Transactions
from holdfast.modules import closure
from holdfast.modules.allotment import Allotment
from holdfast.modules.closure_state import State, _joined_change
from holdfast.modules.reachability import affected
from holdfast.plans import planner
from holdfast.plans.planner import Planner
from holdfast.program import patterns

from .lanes import LOSING, LOSING_RANKS, MIXED


@dataclass(frozen=True)
class Mutant:
    """What is broken, where, and the policy under which it must show."""

    name: str
    function: Callable[..., Any]
    line: str
    instead: str
    policy: str
    modules: bool = False  # whether they take part; then the scripts are of closures
    hint: int = 0  # a script that is known to show it, to be tried first
    anew: bool = False  # whether closures begin anew with every step, as they do when most of their values are gone

    def __str__(self) -> str:
        return f"{self.policy}: {self.name}"


@contextmanager
def broken(mutant: Mutant) -> Iterator[None]:
    """The function with its other line, wherever it is referred to."""
    source, whole = textwrap.dedent(inspect.getsource(mutant.function)), mutant.function.__code__
    assert source.count(mutant.line) == 1, f"{mutant.function.__qualname__} has no longer one {mutant.line!r}"
    space: dict[str, Any] = {}
    exec(compile(source.replace(mutant.line, mutant.instead), "<mutant>", "exec"), mutant.function.__globals__, space)
    made = space[mutant.function.__name__]
    mutant.function.__code__ = inspect.unwrap(getattr(made, "func", made)).__code__  # that of a cached property
    try:
        yield
    finally:
        mutant.function.__code__ = whole


MARKS, WINDOW = "with marks", "in windows"
DRED, DREDC, BF, BFC = "dred", "dred-counting", "backward-forward", "backward-forward-counting"
RANKED = "dred-ranked"
first, over, re_, first_ins, insert = (
    dred_counting.first_deletions,
    dred_counting.overdelete,
    dred_counting.rederive,
    dred_counting.first_insertions,
    dred_counting.insert,
)
counted, counting = dred_counting.counted, dred_counting.maintain_nonrecursive
plain_del, plain_ins = dred_counting.nonrecursive_deletions, dred_counting.nonrecursive_insertions
MUTANTS = [
    # DRed^c
    Mutant(
        "nothing is rederived",
        re_,
        "return overdeleted - s.Cr.zero(overdeleted)",
        "return overdeleted - overdeleted",
        DREDC,
    ),
    Mutant("explicit facts leave Cn", counted, "count(explicit)", "pass", DREDC),
    Mutant("nonrecursive derivations leave Cn", counted, "count(bag)", "pass", DREDC),
    Mutant("first deletions leave Cn", first, "nonrecursive, s.Cn.subtract)", "[], s.Cn.subtract)", DREDC),
    Mutant("first deletions leave Cr", first, "s.Cr.subtract(bag)", "pass", DREDC),
    Mutant("the loop of deletions leaves Cr", over, "s.Cr.subtract(instances)", "pass", DREDC),
    Mutant("the loop of deletions stops", over, "N = instances.support()", "N = Δ", DREDC),
    Mutant("Cn is not looked at", dred_counting.unsupported, "without = s.Cn.zero(facts)", "without = facts", DREDC),
    Mutant(
        "negation: what comes deletes nothing",
        plain_del,
        "s.lost_heads(s.kept.nonrecursive, s.I)",
        "s.delta_heads(s.kept.nonrecursive, s.I, s.removed_inputs, s.nothing)",
        DREDC,
    ),
    Mutant(
        "negation: what goes inserts nothing",
        plain_ins,
        "s.gained_heads(s.kept.nonrecursive, J)",
        "s.delta_heads(s.kept.nonrecursive, J, s.added_inputs, s.nothing)",
        DREDC,
    ),
    Mutant(
        "negation in recursive rules is passed over",
        first_ins,
        "s.delta_heads(s.kept.recursive, J, s.added_inputs, s.removed_inputs)",
        "s.delta_heads(s.kept.recursive, J, s.added_inputs, s.nothing)",
        DREDC,
    ),
    Mutant(
        "rules go without their derivations",
        plain_del,
        "s.instances(s.removed.nonrecursive, I)",
        "s.instances((), I)",
        DREDC,
    ),
    Mutant(
        "recursive rules go without their derivations",
        first,
        "recursive.append(s.instances(s.removed.recursive, I))",
        "pass",
        DREDC,
    ),
    Mutant(
        "rules come without their derivations",
        plain_ins,
        "s.instances(s.added.nonrecursive, J)",
        "s.instances((), J)",
        DREDC,
    ),
    Mutant(
        "recursive rules come without their derivations",
        first_ins,
        "recursive.append(s.instances(s.added.recursive, J))",
        "pass",
        DREDC,
    ),
    Mutant(
        "new recursive rules do not go on", insert, "s.kept.recursive + s.added.recursive", "s.kept.recursive", DREDC
    ),
    Mutant("insertions leave Cn", insert, "nonrecursive, s.Cn.add)", "[], s.Cn.add)", DREDC),
    Mutant("explicit insertions leave Cn", insert, "counted(s.E_plus,", "counted(s.nothing,", DREDC),
    # Counting, on hyper-nodes without recursion
    Mutant("Cn is not looked at", counting, "s.Cn.zero(lost)", "lost", DREDC),
    Mutant("nothing goes", counting, "s.delete(Δ)", "pass", DREDC),
    Mutant("Cn is looked at too soon", counting, "s.begin_insertion()", "s.delete(s.Cn.zero(lost))", DREDC),
    Mutant("what was there comes again", counting, "gained - s.I", "gained", DREDC),
    Mutant("nothing comes", counting, "s.A |= Δ", "pass", DREDC),
    Mutant("first insertions leave Cr", insert, "s.Cr.add(bag)", "pass", DREDC),
    Mutant("the loop of insertions leaves Cr", insert, "s.Cr.add(instances)", "pass", DREDC),
    Mutant("the loop of insertions stops", insert, "N = instances.support()", "N = Δ", DREDC),
    # DRed
    Mutant(
        "only explicit facts are rederived",
        dred.rederive,
        "return explicit | instances.support()",
        "return explicit",
        DRED,
    ),
    Mutant(
        "explicit facts are not rederived",
        dred.rederive,
        "return explicit | instances.support()",
        "return instances.support()",
        DRED,
    ),
    Mutant("the loop of deletions stops", dred.overdelete, "N = instances.support()", "N = Δ", DRED),
    Mutant("aggregates are not overdeleted", dred.first_deletions, "if s.kept.aggregates:", "if False:", DRED),
    Mutant(
        "negation: what comes deletes nothing",
        dred.first_deletions,
        "s.lost_heads(s.kept.rules, I)",
        "s.delta_heads(s.kept.rules, I, s.removed_inputs, s.nothing)",
        DRED,
    ),
    # B/F and B/F^c
    *(
        Mutant(name, function, line, instead, policy)
        for policy in (BF, BFC)
        for name, function, line, instead in [
            ("CHECK does not look backwards", backward_forward.check, "W = supports - C", "W = supports - supports"),
            (
                "CHECK forgets those that wait",
                backward_forward.check,
                "waiting[more] = waiting[more] | left if more in waiting else left",
                "pass",
            ),
            ("CHECK forgets Y", backward_forward.check, "(W & Y) | proves(s, W)", "proves(s, W)"),
            ("SATURATE forgets Y", backward_forward.saturate, "Y |= N - C", "pass"),
            (
                "SATURATE proves by what is not proved",
                backward_forward.saturate,
                "s.backend.elsewhere(s.O, P, I - (D - A))",
                "I - (D - A)",
            ),
            (
                "SATURATE proves what is gone",
                backward_forward.saturate,
                "s.backend.elsewhere(s.O, P, I - (D - A))",
                "s.backend.elsewhere(s.O, P, I)",
            ),
            ("SATURATE does not go on", backward_forward.saturate, "N = instances.support()", "N = Δ - Δ"),
            ("what is proved is deleted", backward_forward._delete, "Δ = S - P", "Δ = S"),
            ("deletions do not go on", backward_forward._delete, "N = reduce(or_, own, instances.support())", "N = Δ"),
        ]
    ),
    Mutant(
        "the counter proves nothing",
        backward_forward._proved_by_counter,
        "facts - s.Cn.zero(facts)",
        "facts - facts",
        BFC,
    ),
    Mutant(
        "explicit facts are no proofs",
        backward_forward._proved_backwards,
        "explicit | instances.support()",
        "instances.support()",
        BF,
    ),
    Mutant(
        "nonrecursive rules are no proofs",
        backward_forward._proved_backwards,
        "explicit | instances.support()",
        "explicit",
        BF,
    ),
    Mutant(
        "facts to be deleted are proofs",
        backward_forward._proved_backwards,
        "(facts & s.E) - s.E_minus",
        "facts & s.E",
        BF,
    ),
    # DRed^w
    Mutant("founded derivations go uncounted", RankedStratum.overdelete, "self.Cw.subtract(founded)", "pass", RANKED),
    Mutant("first deletions leave Cw", RankedStratum._first_deletions, "self.Cw.subtract(founded)", "pass", RANKED),
    Mutant("first insertions leave Cw", RankedStratum._first_insertions, "self.Cw.add(founded)", "pass", RANKED),
    Mutant(
        "what comes is founded by another test than what goes",
        RankedStratum._first_insertions,
        "self.Cw.add(founded)",
        "self.Cw.add(instances)",
        RANKED,
    ),
    Mutant("what comes back keeps its rank", RankedStratum.insert, "self.ranks.enter(Δ)", "pass", RANKED),
    Mutant("a rank is not moved", MemoryRanking._put, "self._rank.of(predicate)[where] = rank", "pass", RANKED),
    Mutant("Cw is not set", MemoryRanking._put, "self.founded.of(predicate)[where] = Cw", "pass", RANKED),
    Mutant("all rounds have one rank", MemoryRanking.enter, "self.rounds += 1", "self.rounds = 1", RANKED),
    Mutant("ranks are not taken back", MemoryRanking.enter, "if remembers:", "if False:", RANKED),
    Mutant("facts of one rank found each other", MemoryRanking.is_above, "spans) < self", "spans) <= self", RANKED),
    Mutant("no rank of a body is looked at", FoundedHeads._highest_of, "np.maximum(", "np.minimum(", RANKED),
    Mutant(
        "ranks of other hyper-nodes are believed",
        Ledger.ranks_are_kept,
        "self._ranked.get(name) == plan.predicates",
        "name in self._ranked",
        RANKED,
    ),
    Mutant("ranks are right whatever ran", Ledger.note_ranks, "self.lose_ranks(plan.predicates)", "pass", LOSING_RANKS),
    Mutant(
        "added recursive rules are not founded",
        RankedStratum._first_insertions,
        "if s.added.recursive:",
        "if False:",
        RANKED,
    ),
    Mutant(
        "removed recursive rules stay", RankedStratum._first_deletions, "if s.removed.recursive:", "if False:", RANKED
    ),
    # recompute
    Mutant("nothing is taken away", recompute.maintain, "D |= s.of_node(I) - new", "pass", "recompute"),
    Mutant("nothing is added", recompute.maintain, "A |= new - I", "pass", "recompute"),
    Mutant("one round only", seminaive.evaluate, "Δ = N.support() - K", "Δ = K - K", "recompute"),
    Mutant("Cr is not counted", seminaive.evaluate, "Cr.add(N)", "pass", "recompute"),
    Mutant(
        "deleted facts stay explicit", recompute.maintain, "(s.of_node(s.E) - s.E_minus)", "s.of_node(s.E)", "recompute"
    ),
    # what all have in common
    Mutant(
        "groups that lose a fact are not touched",
        Stratum.aggregates_touched,
        "self.removed_inputs | self.added_inputs",
        "self.added_inputs",
        DREDC,
    ),
    Mutant(
        "groups that gain a fact are not touched",
        Stratum.aggregates_touched,
        "self.removed_inputs | self.added_inputs",
        "self.removed_inputs",
        DREDC,
    ),
    Mutant("two changed atoms count twice", stratum.delta_sources, "Read.OLD: I - P", "Read.OLD: I", DREDC),
    Mutant(
        "two changed negations count twice",
        stratum.delta_sources,
        "Read.ABSENT_OLD: I | N",
        "Read.ABSENT_OLD: I",
        DREDC,
    ),
    Mutant("two new atoms count twice", Stratum.recursive_heads, "= Ip - Δ", "= Ip", DREDC),
    Mutant(
        "recursion that comes or goes moves no counts",
        Maintainer._edited,
        "self.ledger.move_counts(plan)",
        "pass",
        DREDC,
    ),
    Mutant("moved counts do not arrive", Ledger.move_counts, "gains.add(instances)", "pass", DREDC),
    Mutant("moved counts stay as well", Ledger.move_counts, "loses.subtract(instances)", "pass", DREDC),
    Mutant(
        "counters that were not kept are believed",
        Ledger.make_right,
        "recount(plan.planner, self._backend, _counting_before(plan, served=served))",
        "pass",
        MIXED,
    ),
    Mutant(
        "rules that go are not counted before",
        ledger._counting_before,
        "*kept.nonrecursive, *removed.nonrecursive",
        "*kept.nonrecursive,",
        LOSING,
    ),
    Mutant(
        "counters are right whatever ran",
        walk.Walk._counted,
        "self.ledger.make_right(plan,",
        "(lambda *_, **__: 0)(plan,",
        MIXED,
    ),
    Mutant("Cr is right after B/F^c", Ledger.maintained, "algorithm.keeps_recursive or modular", "True", MIXED),
    Mutant(
        "a hyper-node is the same with other rules",
        node_plans._Same.plan,
        "_listed(plan.node) == _listed(node)",
        "True",
        DREDC,
    ),
    Mutant(
        "counters of what was refused stay",
        Transactions.roll_back,
        "counters.roll_back()",
        "pass",
        "auto",
    ),
    Mutant(
        "a fact deleted and inserted is deleted",
        walk.explicit_change,
        "(deletions & E) - insertions",
        "deletions & E",
        "auto",
    ),
    Mutant("a fact inserted twice is counted twice", walk.explicit_change, ", insertions - E", ", insertions", "auto"),
    Mutant(
        "what changed is not passed on",
        Agenda.due,
        "for reader in self._readers.get(name, ()):",
        "for reader in ():",
        "auto",
    ),
    Mutant("a hyper-node is done before what it reads", Agenda.due, "heapify(due)", "due.sort(reverse=True)", "auto"),
    Mutant(
        "explicit facts stay explicit",
        Transactions._commit_facts,
        "[explicit for explicit, _ in moves]",
        "[(gone.of(()), come) for (gone, come), _ in moves]",
        "recompute",
    ),
    # the planner, where evaluation from scratch does not share its mistakes; others: tests/backends/test_laws_bite.py
    Mutant(
        "negated atoms before the pivot are not apart",
        planner._Steps._negated_read,
        "Read.ABSENT_OLD if",
        "Read.ABSENT if",
        DREDC,
    ),
    Mutant(
        "no plan begins at a negated atom",
        planner._Readers.changed,
        "(self.negative, negative, False)",
        "({}, negative, False)",
        DREDC,
    ),
    Mutant(
        "no plan begins at a positive atom",
        planner._Readers.changed,
        "(self.positive, positive, True)",
        "({}, positive, True)",
        DREDC,
    ),
    Mutant(
        "outside facts are read as if none had changed",
        Planner._plan,
        "self._own if within else None",
        "self._own",
        DREDC,
    ),
    Mutant(
        "one rule backwards is all rules",
        Planner._deriving,
        "sorted(found, key=_PLACE)",
        "sorted(found, key=_PLACE)[:1]",
        DRED,
    ),
    Mutant(
        "a goal's supports are one atom's", Planner._body_plan, "for a in rule.body[1:]", "for a in rule.body[1:2]", BF
    ),
]
MUTANTS += [
    Mutant(*values, modules=True)
    for values in [
        # DRed^c-Mod
        (
            "modules delete nothing",
            modular.overdelete,
            "N = reduce(or_, own, instances.support())",
            "N = instances.support()",
            DREDC,
        ),
        ("modules rederive nothing", modular.rederive, "R = R | module.rederive(J, overdeleted)", "pass", DREDC),
        (
            "modules add nothing",
            modular.adding,
            "reduce(or_, (module.add(J, Δ) for module in s.served))",
            "Δ - Δ",
            DREDC,
        ),
        ("the generic module leaves Cr", modular.overdelete, "s.Cr.subtract(instances)", "pass", DREDC),
        (
            "what counts only as recursive is internal",
            ModuleAdapter.external,
            "self.backend.recursive.zero(self.backend.nonrecursive.zero(here))",
            "self.backend.nonrecursive.zero(here)",
            DREDC,
        ),
        (
            "explicit facts are internal",
            ModuleAdapter.external,
            "self.backend.recursive.zero(self.backend.nonrecursive.zero(here))",
            "self.backend.recursive.zero(here)",
            DREDC,
        ),
        (
            "what is gone is not looked at",
            ModuleAdapter.delete,
            "Δ_rows = self.rows(given)",
            "Δ_rows = self.rows(given)[:0]",
            DREDC,
        ),
        ("a deletion takes the wrong way", closure.Closure.uses, "between(edges, 0, 1)", "NONE", DREDC),
        # B/F^c-Mod
        (
            "modules delete nothing",
            backward_forward._delete,
            "N = reduce(or_, own, instances.support())",
            "N = instances.support()",
            BFC,
        ),
        (
            "modules prove nothing",
            backward_forward.by_modules,
            "module.among(module.external(proved), goals)",
            "goals - goals",
            BFC,
        ),
        ("modules prove by what is not external", backward_forward.by_modules, "module.external(proved)", "goals", BFC),
        (
            "modules support nothing",
            backward_forward.check,
            "module.supports(s.I - (s.D - s.A), goals)",
            "goals - goals",
            BFC,
        ),
        # exact
        ("what is lost stays", modular.exact, "s.delete(module.facts(removed))", "pass", "auto"),
        ("what is gained does not come", modular.exact, "A |= module.facts(added)", "pass", "auto"),
        ("what comes again is lost", modular.exact, "lost - gained, gained - lost", "lost, gained - lost", "auto"),
        ("facts beside the slice are forgotten", modular.exact, "D |= beside & context.facts_lost", "pass", "auto"),
        (
            "facts are known by what an update makes of them",
            States.compact,
            "self._kept[slice_]",
            "self._next.get(slice_) or self._kept[slice_]",
            "auto",
        ),
        ("a form that is left is still the state's", closure.Closure.change, "state.form == form", "True", "auto"),
        ("steps do not change", closure._stepped, "if not len(removed) and not len(added):", "if True:", "auto"),
        ("a loop is kept out of where it may be", patterns._filtered, "no_loops = False", "no_loops = True", "auto"),
        ("a loop is not kept out", patterns._filtered, "no_loops = True", "pass", "auto"),
        (
            "affected: what comes is passed over",
            affected,
            "((old, removed), (new, added))",
            "((old, removed),)",
            "auto",
        ),
        (
            "affected: what goes is passed over",
            affected,
            "((old, removed), (new, added))",
            "((new, added),)",
            "auto",
        ),
        (
            "a detour by what comes",
            affected,
            "Graph(old.nodes, old.edges.edited(removed, NONE), old.stride)",
            "new",
            "auto",
        ),
        (
            "a detour by what goes",
            affected,
            "matters = changed[~_detoured(kept, changed)]",
            "matters = changed[~_detoured(old, changed)]",
            "auto",
        ),
        # around them
        ("states of what was taken back stay", States.roll_back, "self._next.clear()", "self.commit()", "auto"),
        ("states outlive other algorithms", walk.Walk._run, "self.states.drop(plan.predicates)", "pass", MIXED),
        (
            "rules of modules come and go unseen",
            Allotment.same_as,
            "_keys(self.services) == _keys(other.services)",
            "True",
            "auto",
        ),
        (
            "counts of served rules are believed",
            Ledger._is_right,
            "served != bool(O & self._served_count)",
            "False",
            DREDC,
        ),
        (
            "recompute leaves modules out",
            modular.Evaluation._loop,
            "reduce(or_, (module.add(J, Δ) for module in served), found)",
            "found",
            "recompute",
        ),
    ]
]

"""Those that closures of every shape must show, each with a seed that does."""
walked, whether_plain = State.__dict__["walked"].func, State.__dict__["graph"].func
SHAPE_MUTANTS = [
    Mutant(name, function, line, instead, "in any way", hint=hint)
    for hint, name, function, line, instead in [
        (4, "steps are always edges", whether_plain, "all(base.has(step.all).all() for step in steps) and", ""),
        (
            96,
            "what is plain has always enough steps",
            State._stays_plain,
            "self._is_enough(walked)",
            "True",
        ),
        (79, "steps are always enough", State._is_enough, "len(base) in map(len, steps)", "True"),
        (
            655,
            "steps that come are edges",
            State._stays_plain,
            "all(base.has(gained).all() for _, gained in moves)",
            "True",
        ),
        (
            624,
            "edges that go are no steps",
            State._stays_plain,
            "not any(step.has(lost).any() for step in steps)",
            "True",
        ),
        (87, "a doubled graph becomes plain", State._stays_plain, "self.graph.stride == 1", "True"),
        (15, "edges are not turned round", walked, "_joined(B, B)", "B"),
        (33, "steps are not turned round", walked, "_joined(L, T), _joined(T, L)", "L, T"),
        (85, "an edge goes both ways at once", _joined_change, "& ~others.has(flipped(lost))", ""),
        (85, "a step goes both ways at once", _joined_change, "~edges.has(lost) &", ""),
        (79, "what is there comes again", _joined_change, "gained[~was.has(gained)]", "gained"),
        (
            48,
            "steps after move no steps before",
            State._both_ways,
            "(L, T, before, after)",
            "(L, T, before, before)",
        ),
        (
            166,
            "no loops come with reflexive rules",
            State._with_loops,
            "if shape in self.form.shapes",
            "if shape in ()",
        ),
        (
            378,
            "loops stay when their edges go",
            State._loops_edited,
            "((lost, -1), (gained, 1))",
            "((gained, 1),)",
        ),
        (
            378,
            "loops do not come with new edges",
            State._loops_edited,
            "((lost, -1), (gained, 1))",
            "((lost, -1),)",
        ),
        (
            1246,
            "a closure is written out twice",
            VirtualTables.materialise_rows,
            "dict.fromkeys(predicates)",
            "predicates",
        ),
    ]
]

"""Those of lookups in a closure that is not written out."""
LOOKUP_MUTANTS = [
    Mutant(
        "what is looked up is found missing",
        VirtualTables._fetch,
        "virtual.now().matching(key[0], lacking)",
        "()",
        "auto",
    ),
    Mutant(
        "a pair that is looked up is found missing",
        VirtualTables._fetch,
        "lacking[virtual.now().has(lacking)],",
        "lacking[:0],",
        "auto",
    ),
    Mutant(
        "one look covers all values",
        VirtualTables._fetch,
        "np.setdiff1d(values[:, 0], known)",
        "values[:0, 0] if len(known) else values[:, 0]",
        "auto",
    ),
]

"""Those of streams: the policy says which of the two ways to look ahead must notice."""
STREAM_MUTANTS = [
    # marking
    Mutant("covered facts may stay", marking.Marking.covered, "if not known.facts - (s.D - s.A)", "", MARKS, hint=37),
    Mutant(
        "what was met is deleted twice",
        marking.MarkedStratum.lost_heads,
        "bags.append(covered.instances)",
        "bags += covered.instances, covered.instances",
        MARKS,
        hint=6,
    ),
    Mutant(
        "what was met is not deleted",
        marking.MarkedStratum.lost_heads,
        "bags.append(covered.instances)",
        "bags.append(self.backend.apply((), {}))",
        MARKS,
        hint=3,
    ),
    Mutant(
        "what is not covered is not deleted",
        marking.MarkedStratum.lost_heads,
        "if covered.copying is None or len(covered.facts) < self.removed_inputs.sizes()[covered.copying.read]:",
        "if False:",
        MARKS,
        hint=51,
    ),
    Mutant(
        "all that copying rules read is covered",
        marking.MarkedStratum.lost_heads,
        "or len(covered.facts) < self.removed_inputs.sizes()[covered.copying.read]:",
        ":",
        MARKS,
        hint=51,
    ),
    Mutant(
        "rules that were not covered delete nothing",
        marking.Marking.uncovered,
        "if id(rule) not in own)",
        "if not own)",
        MARKS,
        hint=65,
    ),
    Mutant(
        "rules that were covered delete again", marking.Marking.uncovered, "if id(rule) not in own)", ")", MARKS, hint=6
    ),
    Mutant(
        "what is marked is not inserted",
        marking.MarkedStratum.gained_heads,
        "_sum([*copied, met, self._without",
        "_sum([*copied, self._without",
        MARKS,
        hint=3,
    ),
    Mutant(
        "what is not marked is not inserted",
        marking.MarkedStratum.gained_heads,
        "_sum([*copied, met, self._without(coverable.others, J, T, added, removed), *rest])",
        "_sum([*copied, met, *rest])",
        MARKS,
        hint=33,
    ),
    Mutant(
        "rules that read nothing marked insert nothing",
        marking.MarkedStratum.gained_heads,
        "self._changed(coverable.uncopied, J, added, removed)",
        "self._changed(coverable.others, J, added, removed)",
        MARKS,
        hint=2,
    ),
    Mutant(
        "some marked facts came now, and all count as met",
        marking.MarkedStratum.gained_heads,
        "if not T or T - (self.A - self.D):",
        "if not T:",
        MARKS,
        hint=2,
    ),
    Mutant(
        "instances with two marked facts are met twice",
        marking.MarkedStratum._without,
        "left, positive = P - T, I - T",
        "left, positive = P - T, I",
        MARKS,
        hint=35,
    ),
    Mutant("rules copy that join", marking.copies, "len(set(variables)) == len(variables)", "True", MARKS, hint=7),
    Mutant(
        "links outlive the rows",
        links.MemoryLinks._of,
        "if self._packings != self._backend.packings:",
        "if False:",
        MARKS,
        hint=51,
    ),
    Mutant(
        "links are believed where there are none",
        links._Link.heads,
        "visible, self._heads, known",
        "visible, np.maximum(self._heads, 1), known",
        MARKS,
        hint=40,
    ),
    # windows
    Mutant("negated facts count as there", Versions._run, "negated=isinstance(atom, Negated)", "negated=False", WINDOW),
    Mutant(
        "a deletion lasts for one update",
        window.explicit_states,
        "found, effects =",
        "later[::2] &= -later[::2]; found, effects =",
        WINDOW,
    ),
    Mutant(
        "an insertion lasts for one update",
        window.explicit_states,
        "found, effects =",
        "later[1::2] &= -later[1::2]; found, effects =",
        WINDOW,
    ),
    Mutant(
        "instances that held before are counted again",
        window.WindowStratum._count,
        "counters, _BEFORE, scratch",
        "counters, 0, scratch",
        WINDOW,
    ),
    Mutant(
        "new facts cannot be read",
        window.WindowStratum._come,
        "self.backend.added.enter(name, self.backend.materialisation.passing(name, ids, False))",
        "pass",
        WINDOW,
    ),
    Mutant(
        "an atom that changes is not looked at",
        Versions._run,
        "body_atoms(plan), 1)",
        "body_atoms(plan)[1:], 2)",
        WINDOW,
    ),
    Mutant(
        "counters are those of the state before",
        window.WindowStratum.put_counts,
        "_BEFORE, updates, found",
        "_BEFORE, updates - 1, found",
        WINDOW,
    ),
    Mutant("nothing is rederived", window.WindowStratum.maintain, "if overdeleted:", "if False:", WINDOW),
    Mutant("insertions do not go on", window.WindowStratum.maintain, "while Δ:", "while Δ and False:", WINDOW),
    Mutant("deletions do not go on", window.WindowStratum._overdelete, "while Δ:", "while Δ and False:", WINDOW),
    Mutant(
        "what changed outside deletes nothing",
        window.WindowStratum._overdelete,
        "self._lose(self._losses(first, sources), base)",
        "self._lose({}, base)",
        WINDOW,
    ),
    Mutant(
        "lost nonrecursive derivations delete nothing",
        window.WindowStratum._overdelete,
        "overdeleted = [self._lose(lost, base)]",
        "overdeleted = [self._lose({}, base)]",
        WINDOW,
    ),
    Mutant(
        "nonrecursive derivations are not looked at",
        window.WindowStratum._lose,
        "held & words & ~self._supported(name, ids, base)",
        "held & words",
        WINDOW,
    ),
    Mutant(
        "support is that of the first state",
        window.WindowStratum._supported,
        "words = with_changes(words, ids, *base[name])",
        "pass",
        WINDOW,
    ),
    Mutant(
        "two changed atoms count twice", window.WindowStratum.sources, "Read.OLD: U - P", "Read.OLD: U", WINDOW, hint=7
    ),
    Mutant(
        "two changed negations count twice",
        window.WindowStratum.sources,
        "Read.ABSENT_OLD: U",
        "Read.ABSENT_OLD: I - P",
        WINDOW,
        hint=65,
    ),
    Mutant(
        "changed facts are not absent",
        window.WindowStratum.sources,
        "Read.ABSENT: I - P",
        "Read.ABSENT: U",
        WINDOW,
        hint=27,
    ),
    Mutant(
        "aggregates are left out",
        window.WindowStratum._counted,
        "if len(self.P.ids(rule.source)):",
        "if False:",
        WINDOW,
        hint=7,
    ),
    # modules in windows
    Mutant(
        "what is read elsewhere moves nothing",
        window_module.ServedInWindow.follow,
        "if not (lost or gained or any(read[number])):",
        "if not (lost or gained):",
        WINDOW,
        modules=True,
        hint=57,
    ),
    *(
        Mutant(*values, WINDOW, modules=True, hint=hint)
        for hint, *values in [
            (
                5,
                "each step begins at the first state",
                window_module.ServedInWindow.follow,
                "state = changed.state",
                "pass",
            ),
            (
                7,
                "facts beside the slice are forgotten",
                window_module.ServedInWindow.follow,
                "removed, added = removed | (lost - inside), added | (gained - inside)",
                "pass",
            ),
            (
                6,
                "later rules cannot read what comes",
                window_module.ServedInWindow.follow,
                "A |= Momentary(self.backend.tables, {predicate: ids}) - self.backend.materialisation",
                "pass",
            ),
            (5, "what no rule reads is lost", window_module.ServedInWindow.follow, "self.steps = found", "pass"),
            (1, "what moved is no longer ground", window_module._Between.before, "- moved) | held", "- moved)"),
            (
                1,
                "what comes elsewhere is what goes",
                window_module._Between.read,
                'self.read_elsewhere[when == "added"]',
                "self.read_elsewhere[0]",
            ),
            (
                1,
                "what goes was not there",
                window_module._words,
                "np.where(is_added[first] == 1, np.int64(0), versions.every)",
                "np.zeros(len(first), np.int64)",
            ),
            (1, "words are a state early", window_module._words, "enumerate(moved, 1)", "enumerate(moved)"),
        ]
    ),
    *(
        Mutant(*values, WINDOW, modules=True, hint=hint, anew=True)
        for hint, *values in [
            (1, "what was lost is still ground", window_module._Between.before, "- moved) | held", ") | held"),
            (
                1,
                "the ground is that of the first state",
                window_module._Between.before,
                "(words >> self.number) & 1",
                "words & 1",
            ),
            (
                26,
                "what is read elsewhere is as in the first state",
                window_module._Between.read,
                "self.versions.before(self.number, slice.predicate)",
                "self.versions.before(0, slice.predicate)",
            ),
        ]
    ),
]

on_ids, of_rules, at_first = inspect.unwrap(MemoryCounting.maintain), MemoryCounting._counted, MemoryCounting.__init__
COUNTING_MUTANTS = [
    Mutant(name, function, line, instead, "auto")
    for name, function, line, instead in (
        ("explicit facts leave Cn", of_rules, "count(name, explicit, NO_WEIGHTS, step)", "pass"),
        ("derivations leave Cn", of_rules, "count(name, ids, weights, step)", "pass"),
        ("aggregates leave Cn", of_rules, "count(name, ids, NO_WEIGHTS, step)", "pass"),
        ("a fact with other derivations goes", on_ids, "enter(name, zero[:count])", "enter(name, lost)"),
        ("what is there comes again", on_ids, "gained, absent))", "gained, absent | 1))"),
        ("what comes deletes nothing", on_ids, "of, removed, added, self._old", "of, removed, {}, self._old"),
        ("what goes inserts nothing", on_ids, "of, added, removed, self._new", "of, added, {}, self._new"),
        ("what went is looked at with itself", at_first, "I - removed", "I"),
        ("what came is looked at with itself", at_first, "J - added", "J"),
        ("what came is absent as well", at_first, "I | added", "I"),
        ("what went is absent as well", at_first, "J | removed", "J"),
        ("what went is read", at_first, "(I - D) | A", "I | A"),
        ("what came is not read", at_first, "(I - D) | A", "I - D"),
        ("an aggregate of what came stays", of_rules, "rule.source in P or rule.source in N", "rule.source in P"),
    )
]
