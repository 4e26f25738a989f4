"""From rules to plans: the order of the joins and the delta form of each rule."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from holdfast.plans.model import (
    AggregatePlan,
    Compute,
    Filter,
    Join,
    Keep,
    NodePlans,
    Plan,
    Read,
    Scan,
    Spread,
    Step,
)
from holdfast.program.model import (
    Apply,
    Argument,
    Assign,
    Atom,
    Compare,
    Const,
    HyperNode,
    Literal,
    Negated,
    Range,
    Rule,
    Term,
    Test,
    Var,
    Wildcard,
)

Sizes = Callable[[str], int]
"""How many facts a predicate has, or is thought to have."""

_UNKNOWN = 1_000
_RECURSIVE = 1_000_000  # a relation that is still being computed is taken to become large


def plan_node(node: HyperNode, sizes: Sizes = lambda _predicate: _UNKNOWN) -> NodePlans:
    """The plans that evaluate a hyper-node from scratch, its joins ordered by the sizes known now."""

    def expected(predicate: str) -> int:
        return max(_RECURSIVE, sizes(predicate)) if predicate in node.predicates and node.is_recursive else sizes(predicate)

    whole = tuple(plan_rule(rule, None, expected) for rule in node.nonrecursive)
    aggregates = tuple(AggregatePlan(rule) for rule in node.aggregates)
    recursive = tuple(
        plan_rule(rule, pivot, expected, node.predicates)
        for rule in node.recursive
        for pivot in positions(rule, node.predicates)
    )
    return NodePlans(node.predicates, whole + aggregates, recursive)


def positions(rule: Rule, predicates: Iterable[str]) -> list[int]:
    """Where in the body the positive atoms of some predicates stand."""
    return [i for i, literal in enumerate(rule.body) if isinstance(literal, Atom) and literal.predicate in predicates]


def plan_rule(rule: Rule, pivot: int | None, sizes: Sizes = lambda _predicate: _UNKNOWN,
              changing: Collection[str] | None = None) -> Plan:
    """A plan for one rule that starts at the pivot, or where it is cheapest when there is none.

    `changing` are the predicates that may have facts in the delta (None: all); the others are read as they are.
    """
    steps = tuple(_Ordering(rule, pivot, sizes, changing).steps())
    return Plan(rule, pivot, steps, _live(rule, steps))


def variables(term: Term | Wildcard) -> Iterator[Var]:
    """The variables of a term, from left to right."""
    match term:
        case Var():
            yield term
        case Apply(arguments=arguments):
            for argument in arguments:
                yield from variables(argument)


def literal_variables(literal: Literal) -> set[Var]:
    """The variables that occur in a literal."""
    return {variable for term in _terms(literal) for variable in variables(term)}


def _terms(literal: Literal) -> tuple[Term | Wildcard, ...]:
    match literal:
        case Atom(arguments=arguments) | Negated(arguments=arguments):
            return arguments
        case Test(arguments=terms):
            return terms
        case Compare(left=left, right=right):
            return (left, right)
        case Assign(variable=variable, term=term):
            return (variable, term)
        case Range(variable=variable, start=start, stop=stop, step=step):
            return (variable, start, stop) if step is None else (variable, start, stop, step)


_PARTIAL = frozenset({"/", "%", "^", "to_number", "to_unsigned", "to_float", "substr", "ftoi", "ftou", "datatype"})


def _has_partial_functor(term: Term | Wildcard) -> bool:
    return isinstance(term, Apply) and (term.function in _PARTIAL or any(map(_has_partial_functor, term.arguments)))


class _Ordering:
    """Chooses the next literal again and again: what costs nothing first, then the cheapest atom."""

    def __init__(self, rule: Rule, pivot: int | None, sizes: Sizes, changing: Collection[str] | None) -> None:
        self.changing = changing
        self.rule = rule
        self.pivot = pivot
        self.sizes = sizes
        self.bound: set[Var] = set()
        self.left = dict(enumerate(rule.body))

    def steps(self) -> Iterator[Step]:
        if self.pivot is not None:
            yield self._first(self.pivot)
        while self.left:
            yield self._next()

    def _next(self) -> Step:
        free = [i for i in self.left if self._is_free(i)]
        atoms = [i for i in self.left if isinstance(self.left[i], Atom)]
        waits = {i for i in free if self._may_fail(i)} if len(atoms) + len(free) > 1 else set()
        safe = next((i for i in free if i not in waits), None)
        if safe is not None:
            return self._free_step(safe)
        if atoms:
            return self._atom_step(min(atoms, key=self._cost))
        return self._free_step(free[0])

    def _may_fail(self, position: int) -> bool:
        """Whether a literal may have no value for some binding, so that it should only see those that pass all others.

        A value that an atom is looked up by is computed at once all the same.
        """
        literal = self.left[position]
        if isinstance(literal, Assign) and any(
            literal.variable in literal_variables(other) for i, other in self.left.items() if i != position
        ):
            return False
        return any(_has_partial_functor(term) for term in _terms(literal))

    def _take(self, position: int) -> Literal:
        literal = self.left.pop(position)
        self.bound |= literal_variables(literal)
        return literal

    def _first(self, position: int) -> Step:
        literal = self.rule.body[position]
        assert isinstance(literal, Atom | Negated)
        read = Read.DELTA if isinstance(literal, Atom) else Read.ABSENT_DELTA
        atom = Atom(literal.predicate, literal.arguments)
        step = Scan(atom, read, self._key(atom.arguments))
        self._take(position)
        return step

    def _is_free(self, position: int) -> bool:
        """Whether a literal can run now and only makes the bindings fewer, or no more."""
        match self.left[position]:
            case Atom():
                return False
            case Assign(term=term):
                return self.bound.issuperset(variables(term))
            case Range(variable=variable) as literal:
                return self.bound.issuperset(literal_variables(literal) - {variable})
            case literal:
                return self.bound.issuperset(literal_variables(literal))

    def _free_step(self, position: int) -> Step:
        literal = self.left[position]
        bound = self.bound.copy()
        self._take(position)
        match literal:
            case Assign(variable=variable, term=term):
                return Filter(Compare("=", variable, term)) if variable in bound else Compute(literal)
            case Range():
                return Spread(literal)
            case Negated(arguments=arguments):
                known = tuple(i for i, argument in enumerate(arguments) if not isinstance(argument, Wildcard))
                return Keep(literal, self._negated_read(position), known)
            case Compare() | Test():
                return Filter(literal)
        raise AssertionError(literal)

    def _atom_step(self, position: int) -> Step:
        atom = self.left[position]
        assert isinstance(atom, Atom)
        key = self._key(atom.arguments)
        is_first = len(self.left) == len(self.rule.body)
        self._take(position)
        read = self._positive_read(position)
        return Scan(atom, read, key) if is_first else Join(atom, read, key)

    def _key(self, arguments: tuple[Argument, ...]) -> tuple[int, ...]:
        return tuple(i for i, argument in enumerate(arguments) if isinstance(argument, Const) or argument in self.bound)

    def _cost(self, position: int) -> float:
        """How many facts one binding is expected to meet."""
        atom = self.left[position]
        assert isinstance(atom, Atom)
        known = len(self._key(atom.arguments))
        if not atom.arguments or known == len(atom.arguments):
            return 0.5
        return float(max(1, self.sizes(atom.predicate)) ** (1 - known / len(atom.arguments)))

    def _positive_read(self, position: int) -> Read:
        atom = self.rule.body[position]
        assert isinstance(atom, Atom)
        if self.pivot is None or (self.changing is not None and atom.predicate not in self.changing):
            return Read.ALL
        return Read.ALL if position > self.pivot and isinstance(self.rule.body[self.pivot], Atom) else Read.OLD

    def _negated_read(self, position: int) -> Read:
        if self.pivot is not None and isinstance(self.rule.body[self.pivot], Negated) and position < self.pivot:
            return Read.ABSENT_OLD
        return Read.ABSENT


def _live(rule: Rule, steps: tuple[Step, ...]) -> tuple[tuple[Var, ...], ...]:
    """After each step, the bound variables that a later step or the head still needs."""
    needed = {variable for term in rule.arguments for variable in variables(term)}
    after: list[set[Var]] = []
    for step in reversed(steps):
        after.append(set(needed))
        needed |= step_variables(step)
    result, bound = [], list[Var]()
    for step, wanted in zip(steps, reversed(after), strict=True):
        bound += [v for v in sorted(step_variables(step), key=lambda v: v.name) if v not in bound]
        result.append(tuple(v for v in bound if v in wanted))
    return tuple(result)


def step_variables(step: Step) -> set[Var]:
    """The variables that a step reads or binds."""
    match step:
        case Scan(atom=literal) | Join(atom=literal):
            return literal_variables(literal)
        case Keep(atom=negated):
            return literal_variables(negated)
        case Filter(condition=condition):
            return literal_variables(condition)
        case Compute(assignment=assignment):
            return literal_variables(assignment)
        case Spread(range=spread):
            return literal_variables(spread)
