"""Pass 2: written rules become core rules: one head, a conjunction, aggregates as relations of their own."""

from __future__ import annotations

from holdfast.deadline import look_at_the_clock
from holdfast.errors import Label, Span
from holdfast.language import tree
from holdfast.language.editing import ASSERTED
from holdfast.language.foreign import HEAD_WILDCARD, value_help
from holdfast.language.hints import aggregate_help
from holdfast.program.aggregates import (
    EXTREMES,
    AggregateSource,
    Columns,
    Expander,
    WrittenRule,
    direct_source,
    with_value,
)
from holdfast.program.core import (
    CoreAtom,
    CoreLiteral,
    CoreProgram,
    CoreRule,
    children,
    term_variables,
)
from holdfast.program.flatten import CONSTANTS, Flat, Flattener, Fresh, flattened
from holdfast.program.graph import components
from holdfast.program.limit_heads import aggregates_of, check_heads, limit_of
from holdfast.program.names import Names, formula_atoms
from holdfast.program.normal_form import MOST_ALTERNATIVES, report_too_many
from holdfast.quick_dataclass import dataclass


def desugar(program: tree.Program, scope: Names) -> CoreProgram:
    """Every rule and fact of the text as core rules and facts."""
    expander = Expander(scope, _cycles(program, scope))
    facts: list[CoreAtom] = []
    rules = [item for item in program.items if isinstance(item, tree.Rule)]
    for rule, name in zip(rules, rule_names(rules, scope), strict=True):
        look_at_the_clock()
        if id(rule) in scope.refused:
            continue
        if rule.body is None:
            facts += [fact for head in rule.heads if (fact := _fact(head, scope)) is not None]
        else:
            desugar_rule(scope, expander, name, rule)
    for relation in [r for r in scope.relations.values() if r.equivalence]:
        expander.rules += _equivalence_rules(relation.name, relation.span or program.items[0].span)
    core = CoreProgram(tuple(expander.rules), tuple(expander.aggregates), tuple(facts))
    check_heads(rules, core, scope)
    return core


def _cycles(program: tree.Program, scope: Names) -> dict[str, int]:
    """The number of each predicate's strongly connected component, by the rules as written."""
    reads: dict[str, list[str]] = {}
    for item in program.items:
        if isinstance(item, tree.Rule) and item.body is not None and id(item) not in scope.refused:
            body = [scope.predicate_of(atom) for atom in formula_atoms(item.body) if not scope.is_test(atom)]
            for head in item.heads:
                reads.setdefault(scope.predicate_of(head), []).extend(body)
    return {name: number for number, group in enumerate(components(scope.relations, reads)) for name in group}


def desugar_rule(scope: Names, expander: Expander, name: str, rule: tree.Rule) -> None:
    """Add the core rules of a written rule; one with an error adds none."""
    good = scope.error_count, len(expander.rules), len(expander.aggregates)
    _Desugarer(scope, expander, name, rule.span).rule(rule.heads, rule.body or tree.Truth(True, span=rule.span))
    if scope.error_count > good[0]:
        del expander.rules[good[1] :], expander.aggregates[good[2] :]


def rule_names(rules: list[tree.Rule], scope: Names) -> list[str]:
    """The name of each rule; a fact has none."""
    given: dict[str, Span] = {}
    result = []
    for rule in rules:
        attribute = next((a for a in rule.attributes if a.name == "name"), None)
        if attribute is not None and (first := given.setdefault(attribute.value, attribute.span)) is not attribute.span:
            labels = [Label(first, "the first one")]
            scope.diagnostics.error("E0208", f"two rules are named {attribute.value}", attribute.span, labels=labels)
        if attribute is not None and attribute.value == ASSERTED:
            message = f"a rule cannot be named {ASSERTED}: in proofs that stands for facts that were given"
            scope.diagnostics.error("E0208", message, attribute.span)
        result.append(attribute.value if attribute is not None else "")
    return result


def _fact(head: tree.Atom, scope: Names) -> CoreAtom | None:
    """A fact of the text; reports arguments that are not constant."""
    offenders = [t for argument in head.arguments for t in _not_constant(argument)]
    if offenders:
        _refuse_variables(offenders, scope)
        return None
    flattener, before = Flattener(scope, Fresh()), scope.error_count
    arguments = tuple(flattener.term(argument) for argument in head.arguments)
    return None if scope.error_count > before else CoreAtom(scope.predicate_of(head), arguments, head.span)


def _refuse_variables(offenders: list[tree.Term], scope: Names) -> None:
    names = list(dict.fromkeys(t.name for t in offenders if isinstance(t, tree.Variable)))
    several = len(names) > 1
    what = f"{' and '.join(names)} {'are variables' if several else 'is a variable'}" if names else "this is not"
    subject = "the arguments of a fact must be constants" if several else "an argument of a fact must be constant"
    strings = ", ".join(f'"{name}"' for name in names)
    written = f"{'strings are' if several else 'a string is'} written {strings}" if names else None
    help = next(filter(None, map(value_help, names)), written)
    scope.diagnostics.error("E0302", f"{subject}, but {what}", offenders[0].span, help=help)


def _not_constant(term: tree.Term) -> list[tree.Term]:
    match term:
        case tree.Variable() | tree.Wildcard() | tree.Aggregate() | tree.HeadAggregate() | tree.Call(function="range"):
            return [term]
        case _:
            return [t for child in children(term) for t in _not_constant(child)]


def _equivalence_rules(predicate: str, span: Span) -> list[CoreRule]:
    """The rules that make a binary relation symmetric, transitive, and reflexive on its elements."""
    x, y, z = (tree.Variable(name, span=span) for name in "xyz")

    def rule(kind: str, head: tuple[tree.Term, ...], *body: tuple[tree.Term, ...]) -> CoreRule:
        atoms = tuple(CoreAtom(predicate, arguments, span) for arguments in body)
        return CoreRule(f"{predicate}.{kind}", CoreAtom(predicate, head, span), atoms, span)

    return [
        rule("symmetric", (y, x), (x, y)),
        rule("transitive", (x, z), (x, y), (y, z)),
        rule("reflexive", (x, x), (x, y)),
    ]


@dataclass
class _Desugarer:
    """One written rule."""

    scope: Names
    expander: Expander
    name: str
    span: Span

    def __post_init__(self) -> None:
        self.fresh = Fresh()

    def rule(self, heads: tuple[tree.Atom, ...], body: tree.Formula) -> None:
        """Add the core rules of a written rule."""
        head_names = [v.name for head in heads for t in head.arguments for v in term_variables(t, deep=True)]
        inner = flattened(body, self.scope, self.fresh, head_names)
        grouped = [head for head in heads if len(aggregates_of(head)) and limit_of(head) is None]
        plain = [head for head in heads if head not in grouped]
        before = len(self.expander.rules)
        for flat in inner if plain else ():
            self._alternative(plain, flat, len(inner) > 1)
            if len(self.expander.rules) - before > MOST_ALTERNATIVES:
                report_too_many(self.span, self.scope.diagnostics)
                return
        for head in grouped:
            self._head_aggregate(head, list(inner))

    def _alternative(self, heads: list[tree.Atom], flat: Flat, several: bool) -> None:
        """The rules of one alternative; the heads share its body and its aggregates."""
        flattener = Flattener(self.scope, self.fresh, HEAD_WILDCARD)
        new_heads = [self._head(head, flattener) for head in heads]
        extra = flattener.flat(())
        whole = Flat((*flat.literals, *extra.literals), (*flat.pending, *extra.pending))
        used = frozenset(v.name for head in new_heads for t in head.arguments for v in term_variables(t))
        place = self._place(heads[0])
        where = _span_of(flat.literals) if several else None
        for body in self.expander.bodies(place, whole, used):
            for head, written in zip(new_heads, heads, strict=True):
                limit = limit_of(written)
                self.expander.rules.append(CoreRule(self.name, head, body, self.span, where, limit=limit))

    def _head(self, head: tree.Atom, flattener: Flattener) -> CoreAtom:
        arguments = tuple(flattener.term(self._offered(argument)) for argument in head.arguments)
        return CoreAtom(self.scope.predicate_of(head), arguments, head.span)

    def _offered(self, term: tree.Term) -> tree.Term:
        """The value that a rule offers to a limit column."""
        if isinstance(term, tree.HeadAggregate) and isinstance(term.target, tree.Wildcard):
            help = aggregate_help(term.function)
            self.scope.diagnostics.error(
                "E0308", "`_` has no value that could be used here", term.target.span, help=help
            )
            return tree.Number("0", tree.NumberKind.NUMBER, span=term.span)
        return term.target if isinstance(term, tree.HeadAggregate) else term

    def _place(self, head: tree.Atom) -> WrittenRule:
        return WrittenRule(self.name, self.scope.predicate_of(head), self.span, self.fresh)

    def _head_aggregate(self, head: tree.Atom, inner: list[Flat]) -> None:
        """`h(x, count(t)) :- body`: aggregates over the distinct substitutions of the body, then a projection."""
        place = self._place(head)
        taken = _HeadAggregates(self.scope, self.fresh, inner)
        arguments = tuple(taken.argument(argument) for argument in head.arguments)
        source = self._head_source(place, taken, head.span)
        if source is None:
            return
        body = []
        for value, aggregate, column in taken.aggregates:
            target = None if aggregate.function == "count" else source.position(column)
            relation = self.expander.relation(
                place,
                AggregateSource(source.predicate, source.columns, target),
                taken.group,
                aggregate.function,
                aggregate.span,
                in_head=True,
            )
            keys = (tree.Variable(name, span=aggregate.span) for name in taken.group)
            body.append(CoreAtom(relation, (*keys, value), aggregate.span))
        core_head = CoreAtom(place.predicate, arguments, head.span)
        self.expander.rules.append(CoreRule(self.name, core_head, tuple(body), self.span))

    def _head_source(self, place: WrittenRule, taken: _HeadAggregates, span: Span) -> AggregateSource | None:
        needed = list(dict.fromkeys([*taken.group, *(column for _, _, column in taken.aggregates)]))
        extremes = all(aggregate.function in EXTREMES for _, aggregate, _ in taken.aggregates)
        direct = direct_source(taken.inner, None, needed)
        if direct is not None and (extremes or all(isinstance(c, tree.Variable) for c in direct.columns)):
            return direct
        if not taken.inner:
            return None
        return self.expander.collect(place, taken.inner, Columns(needed, not extremes, spans=taken.spans), None, span)


class _HeadAggregates:
    """Extracts the aggregates from a head's arguments: the columns to group by, and the aggregates."""

    def __init__(self, scope: Names, fresh: Fresh, inner: list[Flat]) -> None:
        self.scope = scope
        self.fresh = fresh
        self.inner = inner
        self.group: list[str] = []
        self.spans: dict[str, Span] = {}
        self.aggregates: list[tuple[tree.Variable, tree.HeadAggregate, str]] = []

    def argument(self, term: tree.Term) -> tree.Term:
        """The argument of the projection's head."""
        match term:
            case tree.HeadAggregate(target=tree.Wildcard() as target):
                self._no_value(target, aggregate_help(term.function))
                return target
            case tree.HeadAggregate():
                value = self.fresh.variable(term.span)
                column, self.inner = with_value(self.fresh, self.scope, self.inner, term.target)
                self.aggregates.append((value, term, column))
                self.spans[column] = term.target.span
                return value
            case tree.Wildcard():
                self._no_value(term, HEAD_WILDCARD)
                return term
        if isinstance(term, CONSTANTS):
            return term
        name, self.inner = with_value(self.fresh, self.scope, self.inner, term)
        if name not in self.group:
            self.group.append(name)
            self.spans[name] = term.span
        return tree.Variable(name, span=term.span)

    def _no_value(self, term: tree.Wildcard, help: str | None = None) -> None:
        self.scope.diagnostics.error("E0308", "`_` has no value to use here", term.span, help=help)


def _span_of(literals: tuple[CoreLiteral, ...]) -> Span | None:
    return literals[0].span if literals else None
