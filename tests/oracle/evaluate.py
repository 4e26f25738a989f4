"""Naive evaluation of a syntax tree over Python sets: slow, short, and independent of the engine.

It shares the parser and nothing else with what it judges: no checker, no plans, no encoding.  Facts are sets of
rows; inside, a value is a pair (kind, value), so that 1, 1.0 and "1" are three values as the language says.
Declared types are honoured where a literal's type depends on them (an integer literal in a float column).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from holdfast.language import tree
from holdfast.values import Iri, Literal, Row

from . import functors
from .scope import aggregates, binds, children, closure, conjuncts, has_wildcard, is_pattern, variables, witnesses
from .strata import Below, equivalence, reachable, strata
from .values import NIL, Fact, Tagged, alike, base_types, coerce, number, record, tag, tag_row
from .wildcards import is_wildcard, name_wildcards

Binding = dict[str, Tagged]
STANDARD_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
Facts = dict[str, set[Fact]]


class UnsafeError(Exception):
    """A variable is never bound; a checked program does not get here."""


@dataclass(frozen=True)
class Result:
    """The materialisation, and for every fact its (nonrecursive, recursive) numbers of derivations.

    The numbers are meant for programs without disjunction and aggregates, where what an instance is needs no saying.
    """

    facts: dict[str, set[Fact]]
    counters: dict[str, dict[Fact, tuple[int, int]]]


def evaluate(
    program: tree.Program,
    facts: Mapping[str, Iterable[Row]] | None = None,
    columns: Mapping[str, tuple[str, ...]] | None = None,
) -> Result:
    """The materialisation of a program over its own facts and the given ones.

    `columns` are the types of relations that it does not declare: without them the sum of no floats is the number 0.
    """
    evaluation = Evaluation(program)
    evaluation.columns = {**(columns or {}), **evaluation.columns}
    return evaluation.run(facts or {})


def limit_of(head: tree.Atom) -> tuple[int, str] | None:
    """The column and function of a head with one aggregate, if that is `min` or `max`."""
    found = [(i, a.function) for i, a in enumerate(head.arguments) if isinstance(a, tree.HeadAggregate)]
    return found[0] if len(found) == 1 and found[0][1] in ("min", "max") else None


def offering(head: tree.Atom) -> tree.Atom:
    """A head with what it offers in place of its `min` or `max`, if it is one of a limit relation."""
    if limit_of(head) is None:
        return head
    arguments = tuple(a.target if isinstance(a, tree.HeadAggregate) else a for a in head.arguments)
    return replace(head, arguments=arguments)


@dataclass
class Evaluation:
    """One program being evaluated."""

    program: tree.Program
    known: Facts = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        items = self.program.items
        self.prefixes = STANDARD_PREFIXES | {item.prefix: item.iri for item in items if isinstance(item, tree.Prefix)}
        self.types = base_types(items)
        self.columns = {
            self.name(name): tuple(self.types.get(a.type_name, a.type_name) for a in item.attributes)
            for item in items
            if isinstance(item, tree.Declaration)
            for name in item.names
        }
        self.equivalences = {
            self.name(name)
            for item in items
            if isinstance(item, tree.Declaration)
            for name in item.names
            if "eqrel" in item.qualifiers
        }
        self.rules = [
            (head, name_wildcards(item.body))
            for item in items
            if isinstance(item, tree.Rule) and item.body is not None
            for head in item.heads
        ]

        found = {self.name(head.name): limit_of(head) for head, _ in self.rules}
        self.limits = {name: limit for name, limit in found.items() if limit is not None}
        self.sums = self.recursive_sums()
        self.limits |= {name: (column, "max") for name, column in self.sums.items()}

    # --- the fixpoint --------------------------------------------------------------------------------

    def run(self, given: Mapping[str, Iterable[Row]], *, counted: bool = True) -> Result:
        for name, rows in given.items():
            self.known[name] |= {tag_row(row) for row in rows}
        for item in self.program.items:
            if isinstance(item, tree.Rule) and item.body is None:
                for head in item.heads:
                    self.known[self.name(head.name)] |= set(self.heads(head, [{}]))
        explicit = {name: set(rows) for name, rows in self.known.items()}
        below = self.dependencies()
        for stratum in strata(below):
            self.saturate([rule for rule in self.rules if self.name(rule[0].name) in stratum], stratum, below)
        return Result(dict(self.known), self.count_derivations(explicit, below) if counted else {})

    def saturate(self, rules: list[tuple[tree.Atom, tree.Formula]], stratum: set[str], below: Below) -> None:
        recursive = any(read in stratum for name in stratum for read, _ in below[name])
        before: dict[str, set[Fact]] | None = None
        while before != (before := {name: set(self.known[name]) for name in stratum}):
            derived = [
                (head, self.heads(head, self.solve(body, [{}], outside=variables(head)))) for head, body in rules
            ]
            for head, new in derived:
                self.known[self.name(head.name)] |= set(new)
            for name in stratum & self.equivalences:
                self.known[name] = equivalence(self.known[name])
            for name in stratum & self.limits.keys():
                self.known[name] = self.best(self.known[name], *self.limits[name])
            if not recursive:
                return

    def best(self, facts: set[Fact], column: int, function: str) -> set[Fact]:
        """One fact for each group of a relation whose rules have `min`, or `max`, in a column."""
        groups: dict[Fact, list[object]] = defaultdict(list)
        for fact in facts:
            groups[fact[:column] + fact[column + 1 :]].append(fact[column][1])
        extremes = {key: tag(functors.fit(functors.AGGREGATES[function](found))) for key, found in groups.items()}
        return {(*key[:column], value, *key[column:]) for key, value in extremes.items()}

    def dependencies(self) -> Below:
        """For every predicate, those its rules read, and whether through negation or aggregation."""
        below: Below = {name: set() for name in self.known}
        for head, body in self.rules:
            aggregated = any(isinstance(a, tree.HeadAggregate) for a in head.arguments) and limit_of(head) is None
            aggregated = aggregated and self.name(head.name) not in self.sums
            reads = set(self.reads(body, head_aggregate=aggregated))
            below.setdefault(self.name(head.name), set()).update(reads)
            for name, _ in reads:
                below.setdefault(name, set())
        return below

    def recursive_sums(self) -> dict[str, int]:
        """The relations whose sum or count depends on itself, with its column; it only grows."""
        reads = {(self.name(head.name), read) for head, body in self.rules for read, _ in self.reads(body, False)}
        below: Below = {name: set() for pair in reads for name in pair}
        for head_name, read in reads:
            below[head_name].add((read, False))
        reach = reachable(below)
        return {
            name: column
            for head, body in self.rules
            for column, argument in enumerate(head.arguments)
            if isinstance(argument, tree.HeadAggregate) and argument.function in ("sum", "count")
            if any((name := self.name(head.name)) in {read, *reach[read]} for read, _ in self.reads(body, False))
        }

    def reads(self, node: object, head_aggregate: bool) -> Iterable[tuple[str, bool]]:
        if isinstance(node, tree.Atom):
            yield self.name(node.name), head_aggregate
        inside = head_aggregate or isinstance(node, tree.Negation | tree.Aggregate)
        for child in children(node):
            yield from self.reads(child, inside)

    def count_derivations(
        self,
        explicit: Facts,
        below: Below,
    ) -> dict[str, dict[Fact, tuple[int, int]]]:
        """Every substitution of a rule counts once: wildcards of positive atoms are variables here."""
        reach = reachable(below)
        nonrecursive = {name: Counter(rows) for name, rows in explicit.items()}
        recursive: dict[str, Counter[Fact]] = defaultdict(Counter)
        for head, body in self.rules:
            name = self.name(head.name)
            positive = {self.name(item.name) for item in conjuncts(body) if isinstance(item, tree.Atom)}
            is_recursive = any(read == name or (name in reach[read] and read in reach[name]) for read in positive)
            target = recursive[name] if is_recursive else nonrecursive.setdefault(name, Counter())
            target.update(self.heads(offering(head), self.solve(body, [{}], outside=variables(head))))
        return {
            name: {fact: (nonrecursive.get(name, Counter())[fact], recursive[name][fact]) for fact in rows}
            for name, rows in self.known.items()
        }

    # --- bodies --------------------------------------------------------------------------------------

    def solve(
        self,
        formula: tree.Formula,
        bindings: list[Binding],
        groundable: set[str] = frozenset(),  # type: ignore[assignment]
        outside: set[str] = frozenset(),  # type: ignore[assignment]
    ) -> list[Binding]:
        """All distinct extensions of the bindings that satisfy a formula.

        `groundable` are the variables that the formula's surroundings will bind sooner or later, `outside` those that
        they use: the min and max of the formula bind them as witnesses.
        """
        waiting = list(conjuncts(formula))
        while waiting and bindings:
            bound = set(bindings[0])
            ready = [i for i in waiting if self.ready(i, waiting, bound, groundable)]
            used = set(outside).union(*(variables(i, inside_aggregates=False) for i in waiting))
            given = {id(i): witnesses(i, used - bound) for i in ready}
            item = next((i for i in ready if not any(given[id(o)] & variables(i) for o in ready if o is not i)), None)
            if item is None:
                raise UnsafeError(f"never bound: {[variables(i) - bound for i in waiting]}")
            waiting.remove(item)
            around = closure(waiting, bound)[0] | set(groundable)
            used = set(outside).union(*(variables(i, inside_aggregates=False) for i in waiting))
            bindings = self.step(item, bindings, around, used)
        return _distinct(bindings)

    def ready(self, item: tree.Formula, waiting: list[tree.Formula], bound: set[str], groundable: set[str]) -> bool:
        new = binds(item, bound)
        if new is None:
            return False
        around = closure([other for other in waiting if other is not item], bound)[0] | set(groundable)
        closed: list[object] = [item] if isinstance(item, tree.Negation) else list(aggregates(item))
        if isinstance(item, tree.Disjunction):
            closed = [node for branch in item.items for node in conjuncts(branch) if isinstance(node, tree.Negation)]
            in_some = variables(item) - new  # alternatives that bind them are conditions on what others bind
            if not in_some & around <= bound:
                return False
        return all(variables(node) & around <= bound for node in closed)

    def step(self, item: tree.Formula, bindings: list[Binding], around: set[str], used: set[str]) -> list[Binding]:
        match item:
            case tree.Atom():
                return self.join(item, bindings)
            case tree.Negation(operand=operand):
                return [b for b in bindings if not self.solve(operand, [_only(b, variables(operand))], around)]
            case tree.Disjunction(items=branches):
                found = [self.solve(branch, bindings, around, used) for branch in branches]
                common = set.intersection(*({*new[0]} for new in found if new)) if any(found) else set()
                return _distinct([_only(b, common) for new in found for b in new])
            case tree.Conjunction():
                return self.solve(item, bindings, around, used)
            case tree.Truth(value=value):
                return bindings if value else []
            case tree.Constraint(function=function, arguments=(left, right)):
                holds = functors.CONSTRAINTS[function]
                return [
                    b
                    for b in bindings
                    for x, y in product(self.values(left, b), self.values(right, b))
                    if holds(x[1], y[1])
                ]  # type: ignore[arg-type]
            case tree.Comparison():
                return [new for b in bindings for new in self.compare(item, b, around, used)]
            case _:
                raise NotImplementedError(item)

    def join(self, atom: tree.Atom, bindings: list[Binding]) -> list[Binding]:
        """An atom against all facts of its relation, through a table keyed by the columns already known."""
        name, bound = self.name(atom.name), set(bindings[0])
        fixed = [i for i, a in enumerate(atom.arguments) if not has_wildcard(a) and variables(a) <= bound]
        table: dict[Fact, list[Fact]] = defaultdict(list)
        for fact in self.known[name]:
            table[tuple(fact[i] for i in fixed)].append(fact)
        found = []
        for binding in bindings:
            key = [self.values(atom.arguments[i], binding, self.column(name, i)) for i in fixed]
            for values in product(*key):
                found += [new for fact in table[values] if (new := self.match(atom, fact, binding, fixed)) is not None]
        return found

    def match(self, atom: tree.Atom, fact: Fact, binding: Binding, fixed: list[int]) -> Binding | None:
        new: Binding = dict(binding)
        computed: list[tuple[tree.Term, Tagged, str | None]] = []
        name = self.name(atom.name)
        for i, argument in enumerate(atom.arguments):
            if i not in fixed and not self.taken_apart(argument, fact[i], new, computed, self.column(name, i)):
                return None
        return new if all(value in self.values(term, new, column) for term, value, column in computed) else None

    def taken_apart(
        self,
        term: tree.Term,
        value: Tagged,
        binding: Binding,
        computed: list[tuple[tree.Term, Tagged, str | None]],
        column: str | None = None,
    ) -> bool:
        """Whether a value fits a pattern, whose variables are bound; `computed` takes what must be equal after that."""
        match term:
            case tree.Wildcard():
                return True
            case tree.Variable(name=name):
                return binding.setdefault(name, value) == value
            case tree.Record(fields=fields) | tree.Branch(fields=fields):
                branch = term.name if isinstance(term, tree.Branch) else ""
                kind, inside = value
                if kind != "record" or inside[0] != branch or len(inside[1]) != len(fields):  # type: ignore[index]
                    return False
                pairs = zip(fields, inside[1], strict=True)  # type: ignore[index]
                return all(self.taken_apart(field, part, binding, computed) for field, part in pairs)
        computed.append((term, value, column))
        return True

    def equated(self, pattern: tree.Term, other: tree.Term, binding: Binding) -> list[Binding]:
        """The bindings under which a pattern with unbound variables equals a term."""
        found = []
        for value in self.values(other, binding):
            new: Binding = dict(binding)
            computed: list[tuple[tree.Term, Tagged, str | None]] = []
            fits = self.taken_apart(pattern, value, new, computed)
            if fits and all(part in self.values(term, new) for term, part, _ in computed):
                found.append(new)
        return found

    def compare(self, item: tree.Comparison, binding: Binding, around: set[str], used: set[str]) -> list[Binding]:
        for here, there in ((item.left, item.right), (item.right, item.left)):
            if item.operator == "=" and isinstance(here, tree.Variable) and here.name not in binding:
                answers = self.answers(there, binding, around, used | {here.name})
                return [{**b, here.name: value} for value, b in answers if b.get(here.name, value) == value]
        for here, there in ((item.left, item.right), (item.right, item.left)):
            is_open = has_wildcard(here) or not variables(here) <= binding.keys()
            if item.operator == "=" and is_pattern(here) and is_open and not has_wildcard(there):
                return self.equated(here, there, binding)
        found = []
        for left, extra in self.answers(item.left, binding, around, used):
            for right, both in self.answers(item.right, extra, around, used):
                pair = [left, right] if item.operator in ("=", "!=") else alike(left, right)
                if functors.COMPARISONS[item.operator](*pair):
                    found.append(both)
        return found

    # --- terms ---------------------------------------------------------------------------------------

    def values(self, term: tree.Term, binding: Binding, column: str | None = None) -> list[Tagged]:
        return [coerce(value, column) for value, _ in self.answers(term, binding, set(), set())]

    def answers(
        self,
        term: tree.Term,
        binding: Binding,
        around: set[str],
        used: set[str],
    ) -> list[tuple[Tagged, Binding]]:
        """The values of a term (several for `range`), each with the binding, extended where a witness is asked for."""
        match term:
            case tree.Variable(name=name):
                return [(binding[name], binding)]
            case tree.Number():
                return [(number(term), binding)]
            case tree.String(value=value):
                return [(("symbol", value), binding)]
            case tree.IriTerm() | tree.PrefixedName() | tree.RdfLiteral():
                return [(("term", self.rdf(term)), binding)]
            case tree.Cast(operand=operand, type_name=type_name):
                kind = self.types.get(type_name, type_name)
                return [(coerce(v, kind), b) for v, b in self.answers(operand, binding, around, used)]
            case tree.Aggregate():
                return self.aggregate(term, binding, around, used)
            case tree.Nil():
                return [(NIL, binding)]
            case tree.Record(fields=fields) | tree.Branch(fields=fields):
                branch = term.name if isinstance(term, tree.Branch) else ""
                made = self.each(fields, binding, around, used)
                return [(record(branch, values), b) for values, b in made]
            case _:
                return self.apply(term, binding, around, used)

    def apply(
        self,
        term: tree.Term,
        binding: Binding,
        around: set[str],
        used: set[str],
    ) -> list[tuple[Tagged, Binding]]:
        match term:
            case tree.Unary(operator=operator, operand=operand):
                function, operands = functors.UNARY[operator], (operand,)
            case tree.Binary(operator=operator, left=left, right=right):
                function, operands = functors.BINARY[operator], (left, right)
            case tree.Call(function="range", arguments=operands):
                function = functors.span
            case tree.Call(function=name, arguments=operands):
                function = functors.CALLS[name]
            case _:
                raise NotImplementedError(term)
        answers = []
        for arguments, b in self.each(operands, binding, around, used):
            value = function(*alike(*arguments))
            answers += [(tag(functors.fit(v)), b) for v in (value if isinstance(value, list) else [value])]
        return answers

    def each(
        self, terms: Iterable[tree.Term], binding: Binding, around: set[str], used: set[str]
    ) -> list[tuple[list[Tagged], Binding]]:
        """The values of several terms together."""
        rows: list[tuple[list[Tagged], Binding]] = [([], binding)]
        for term in terms:
            rows = [([*done, v], b) for done, so_far in rows for v, b in self.answers(term, so_far, around, used)]
        return rows

    def aggregate(
        self,
        term: tree.Aggregate,
        binding: Binding,
        around: set[str],
        used: set[str],
    ) -> list[tuple[Tagged, Binding]]:
        """Over the distinct substitutions of the body under the outer binding; min and max give their witnesses."""
        inner = self.solve(term.body, [_only(binding, variables(term))], around, used | variables(term.target))
        targets = [self.values(term.target, b)[0] if term.target else ("number", 0) for b in inner]
        if not inner and term.function not in functors.DEFINED_ON_NOTHING:
            return []
        value = tag(functors.fit(functors.AGGREGATES[term.function]([v for _, v in targets])))
        taken = (variables(term) & used) - set(binding)
        if term.function not in ("min", "max") or not taken:
            return [(value, binding)]
        attaining = [b for b, target in zip(inner, targets, strict=True) if target == value]
        return [(value, {**binding, **b}) for b in _distinct([_only(b, taken) for b in attaining])]

    def heads(self, head: tree.Atom, bindings: list[Binding]) -> list[Fact]:
        """The head of every substitution, as often as it is derived."""
        name = self.name(head.name)
        if any(isinstance(argument, tree.HeadAggregate) for argument in head.arguments):
            return self.grouped_heads(head, bindings)
        found: list[Fact] = []
        for binding in bindings:
            found += product(*(self.values(a, binding, self.column(name, i)) for i, a in enumerate(head.arguments)))
        return found

    def grouped_heads(self, head: tree.Atom, bindings: list[Binding]) -> list[Fact]:
        groups: dict[Fact, list[Binding]] = defaultdict(list)
        for binding in _distinct([_only(b, {n for n in b if not is_wildcard(n)}) for b in bindings]):
            key = (self.values(a, binding)[0] for a in head.arguments if not isinstance(a, tree.HeadAggregate))
            groups[tuple(key)].append(binding)
        found: list[Fact] = []
        for key, members in groups.items():
            rest, row = iter(key), []
            for argument in head.arguments:
                if isinstance(argument, tree.HeadAggregate):
                    values = [self.values(argument.target, b)[0][1] for b in members]
                    if argument.function == "sum" and self.name(head.name) in self.sums and min(values) < 0:  # type: ignore[type-var]
                        raise functors.UndefinedError("a sum that might fall again")
                    row.append(tag(functors.fit(functors.AGGREGATES[argument.function](values))))
                else:
                    row.append(next(rest))
            found.append(tuple(row))
        return found

    # --- names ---------------------------------------------------------------------------------------

    def name(self, name: tree.Name) -> str:
        """A predicate: plain text, or `<iri>` with the brackets."""
        match name.kind:
            case tree.NameKind.PREFIXED:
                prefix, local = name.text.split(":", 1)
                return f"<{self.prefixes[prefix]}{local}>"
            case tree.NameKind.IRI:
                return f"<{name.text}>"
            case _:
                return name.text

    def column(self, name: str, position: int) -> str | None:
        return self.columns[name][position] if name in self.columns else None

    def rdf(self, term: tree.IriTerm | tree.PrefixedName | tree.RdfLiteral) -> Iri | Literal:
        match term:
            case tree.IriTerm(iri=iri):
                return Iri(iri)
            case tree.PrefixedName(prefix=prefix, local=local):
                return Iri(self.prefixes[prefix] + local)
            case tree.RdfLiteral(lexical=lexical, datatype=datatype, language=language):
                return Literal(lexical, self.rdf(datatype).value if datatype else None, language)  # type: ignore[union-attr]


def _only(binding: Binding, names: set[str]) -> Binding:
    return {name: value for name, value in binding.items() if name in names}


def _distinct(bindings: list[Binding]) -> list[Binding]:
    return list({frozenset(b.items()): b for b in bindings}.values())
