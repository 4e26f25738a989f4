"""Pass 3b: core rules with their types become the rules of the model; reports what does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.deadline import look_at_the_clock
from holdfast.errors import Diagnostics, Label, Span
from holdfast.language import tree
from holdfast.program import model
from holdfast.program.constants import DoesNotFitError, constant
from holdfast.program.core import (
    CoreAggregate,
    CoreAtom,
    CoreCompare,
    CoreLiteral,
    CoreProgram,
    CoreRange,
    CoreRule,
    CoreTest,
    bound_variables,
    is_unused,
    shown,
    source_text,
    term_variables,
)
from holdfast.program.flatten import CONSTANTS
from holdfast.program.folding import FOLDED, NoValueError, fold
from holdfast.program.functors import (
    CONVERSIONS,
    FUNCTORS,
    NUMERIC,
    ORDERED,
    PATTERN_ARGUMENT,
    TESTS,
    UNARY_OPERATORS,
    Functor,
    Types,
)
from holdfast.program.inference import FACTS, Inference
from holdfast.program.names import Names
from holdfast.program.records import directions
from holdfast.values import NIL, Record, Row, Type, Value
from holdfast.values.structures import Kind, RecordForm


class Typer:
    """Gives every term its type and reports where types do not fit."""

    def __init__(self, scope: Names, inference: Inference, diagnostics: Diagnostics) -> None:
        self._scope = scope
        self._inference = inference
        self._diagnostics = diagnostics
        self._rule = FACTS
        self.floats: list[tree.Number] = []
        """The numbers of rules that are written where a float is required."""
        self.integers = set[tuple[Span, Type]]()
        """Where `bnot` and `range` are written, and their types."""
        self._doubtful: set[str] = set()  # aggregates with an error; rules that read them are not reported

    def relations(self) -> dict[str, model.Relation]:
        """All relations with the types of their columns."""
        return {name: self._relation(name) for name in self._scope.relations}

    def _relation(self, name: str) -> model.Relation:
        known = self._scope.relations[name]
        columns = []
        for index, (column, declared) in enumerate(zip(known.columns, known.type_names, strict=True)):
            type = self._inference.column(name, index)
            structure = None if declared is None else self._scope.types.structure(declared)
            columns.append(model.Column(column, type, declared or type.value, structure))
        return model.Relation(
            name, known.display, tuple(columns), tuple(known.io), known.auxiliary, known.span, known.declared
        )

    # --- rules and facts ---

    def rules(self, program: CoreProgram) -> tuple[model.Rule, ...]:
        """The typed rules."""
        return tuple(self._typed_rule(index, rule) for index, rule in enumerate(program.rules))

    def _typed_rule(self, index: int, rule: CoreRule) -> model.Rule:
        look_at_the_clock()
        self._rule = index
        before = len(self._diagnostics.items)
        ways = directions(rule.body)
        places = bound_variables(rule.body, ways)
        body = tuple(new for literal in rule.body for new in self._literals(literal, places, ways))
        arguments = tuple(self._into(rule.head, i) for i in range(len(rule.head.arguments)))
        read = {literal.predicate for literal in rule.body if isinstance(literal, CoreAtom)}
        self._drop_consequences(before, not read.isdisjoint(self._doubtful))
        limit = None if rule.limit is None else model.Limit(rule.limit.column, rule.limit.function)
        return model.Rule(rule.name, rule.head.predicate, arguments, body, rule.span, limit)

    def _drop_consequences(self, before: int, doubtful: bool) -> None:
        """Report only the first clash: a functor or variable with clashing types makes its neighbours clash too."""
        new = self._diagnostics.items[before:]
        if doubtful or any(d.code in ("E0401", "E0404") for d in new):
            kept = [d for d in new if d.code in ("E0401", "E0404", "E0406", "E0408") and not doubtful]
            self._diagnostics.items[before:] = kept

    def facts(self, program: CoreProgram) -> dict[str, tuple[Row, ...]]:
        """The facts of the text, without duplicates, in their order."""
        self._rule = FACTS
        rows: dict[str, dict[str, Row]] = {}
        for fact in program.facts:
            row = self._row(fact)
            if row is not None:
                rows.setdefault(fact.predicate, {}).setdefault(repr(row), row)  # to Python 1 and 1.0 are equal
        return {predicate: tuple(found.values()) for predicate, found in rows.items()}

    def _row(self, fact: CoreAtom) -> Row | None:
        values: list[Value] = []
        for index, written in enumerate(fact.arguments):
            before = len(self._diagnostics.items)
            match self._into(fact, index):
                case model.Const(value=value):
                    values.append(value)
                case model.Apply(function=function) if len(self._diagnostics.items) == before:
                    message = f"an argument of a fact must be constant, but {function} is computed only in rules"
                    self._diagnostics.error("E0302", message, written.span)
        return tuple(values) if len(values) == len(fact.arguments) else None

    def aggregates(self, program: CoreProgram) -> tuple[model.AggregateRule, ...]:
        """The aggregate rules; reports an aggregate over values that cannot be aggregated."""
        for aggregate in program.aggregates:
            self._check_aggregate(aggregate)
        for rule in program.rules:
            if rule.limit is not None:
                place = rule.head.predicate, rule.limit.column
                self._check_target(rule.limit.function, *place, rule.head.predicate, rule.limit.span)
        return tuple(
            model.AggregateRule(a.name, a.predicate, a.source, a.group, a.function, a.target, a.span)
            for a in program.aggregates
        )

    def _check_aggregate(self, aggregate: CoreAggregate) -> None:
        if aggregate.target is not None:
            place = aggregate.source, aggregate.target
            self._check_target(aggregate.function, *place, aggregate.predicate, aggregate.span)

    def _check_target(self, function: str, predicate: str, column: int, head: str, span: Span) -> None:
        type = self._inference.column(predicate, column)
        allowed = ORDERED if function in ("min", "max") else NUMERIC
        if type not in allowed and not self._inference.column_clashed(predicate, column):
            self._diagnostics.error("E0409", f"{function} has no meaning for values of type {type.value}", span)
            self._doubtful.add(head)

    # --- literals ---

    def _literals(
        self, literal: CoreLiteral, places: Mapping[str, int], ways: Mapping[int, bool]
    ) -> Iterator[model.BodyLiteral]:
        """The literals that a core literal stands for: one, or several where a record is taken apart."""
        if ways.get(id(literal)) and isinstance(literal, CoreCompare):
            yield from self._apart(self._term(literal.left), literal.right)
        elif id(literal) in ways and isinstance(literal, CoreCompare) and isinstance(literal.left, tree.Variable):
            yield model.Assign(self._variable(literal.left), self._term(literal.right))
        else:
            yield self._literal(literal, places)

    def _apart(self, whole: model.Term, pattern: tree.Term) -> Iterator[model.BodyLiteral]:
        """`whole = [x, 1, _]`: it has the form, x is its first field, and its second is 1."""
        assert isinstance(pattern, tree.Record | tree.Branch)
        form = _form(pattern)
        yield model.Test("has_form", (whole, form))
        for number, inside in enumerate(pattern.fields):
            field = model.Apply("field", (whole, form, model.Const(number, Type.NUMBER)), self._type(inside))
            if isinstance(inside, tree.Record | tree.Branch):
                yield from self._apart(field, inside)
            elif isinstance(inside, tree.Variable):
                if not is_unused(inside.name):
                    yield model.Assign(self._variable(inside), field)
            else:
                yield model.Compare("=", field, self._term(inside))

    def _literal(self, literal: CoreLiteral, places: Mapping[str, int]) -> model.BodyLiteral:
        match literal:
            case CoreAtom(negated=negated):
                arguments = tuple(self._argument(literal, i) for i in range(len(literal.arguments)))
                return (model.Negated if negated else model.Atom)(literal.predicate, arguments)
            case CoreCompare():
                return self._compare(literal, places)
            case CoreTest(function=function, arguments=terms):
                self._check_parameters(TESTS[function], terms)
                self._check_pattern(function, terms)
                return model.Test(function, tuple(map(self._term, terms)), literal.negated)
            case CoreRange(variable=variable, bounds=bounds):
                self._check_range(literal)
                start, stop, *step = map(self._term, bounds)
                if step and _is_zero(step[0]):
                    self._has_no_value(literal.span, "a range with step 0 has no end")
                return model.Range(self._variable(variable), start, stop, step[0] if step else None)

    def _check_pattern(self, function: str, terms: tuple[tree.Term, ...]) -> bool:
        """Check a pattern that is known before any fact."""
        written = terms[PATTERN_ARGUMENT[function]] if function in PATTERN_ARGUMENT else None
        if isinstance(written, tree.String):
            from holdfast.regular_expressions import PatternError, anchored  # imported late: it loads Arrow

            try:
                anchored(written.value)
            except PatternError as error:
                help = r'a character such as ( is literal after two backslashes, as in "\\("'
                note = "patterns are matched in linear time, so they have no backreferences or look-around"
                self._diagnostics.error("E0410", str(error), written.span, notes=[note], help=help)
                return False
        return True

    def _check_range(self, literal: CoreRange) -> None:
        type = self._type(literal.variable)
        self.integers.add((literal.span, type))
        if not type.is_numeric:
            message = f"range gives numbers, but {shown(literal.variable)} is {type.value}"
            self._diagnostics.error("E0404", message, literal.span)

    def _compare(self, literal: CoreCompare, places: Mapping[str, int]) -> model.BodyLiteral:
        """A comparison; an equation defines the side that is a variable, or of two variables the one bound later."""
        self._check_comparison(literal)
        left, right = self._term(literal.left), self._term(literal.right)
        if literal.operator != "=":
            return model.Compare(literal.operator, left, right)
        sides = [(literal.left, left, right), (literal.right, right, left)]
        sides.sort(key=lambda side: -places.get(side[0].name, 0) if isinstance(side[0], tree.Variable) else 1)
        for written, variable, value in sides:
            occurs = {v.name for other, _, _ in sides if other is not written for v in term_variables(other)}
            if isinstance(variable, model.Var) and variable.name not in occurs:
                return model.Assign(variable, value)
        return model.Compare("=", left, right)

    def _check_comparison(self, literal: CoreCompare) -> None:
        left, right = self._type(literal.left), self._type(literal.right)
        if not _comparable(left, right):
            pairs = ((literal.left, left), (literal.right, right))
            sides = ", ".join(f"{source_text(term.span)} is {type.value}" for term, type in pairs)
            self._diagnostics.error("E0407", f"{sides}: they cannot be compared", literal.span)
        elif {left, right} & {Type.ANY, Type.RECORD} and literal.operator not in ("=", "!="):
            message = f"values of type {left.value} have no order, so {literal.operator} has no meaning for them"
            help = "declare the column as number, float or symbol"
            self._diagnostics.error("E0407", message, literal.span, help=help)

    def _argument(self, atom: CoreAtom, index: int) -> model.Argument:
        written = atom.arguments[index]
        if isinstance(written, tree.Wildcard):
            return model.Wildcard()
        type = self._inference.column(atom.predicate, index)
        if isinstance(written, tree.Variable):
            self._check_meets(atom, index, type)
            return self._variable(written)
        return self._constant(written, type, self._column_note(atom, index))

    def _check_meets(self, atom: CoreAtom, index: int, type: Type) -> None:
        """Check that a variable whose type was decided elsewhere is comparable with the column."""
        written = atom.arguments[index]
        own = self._type(written)
        if not _comparable(own, type) and atom.negated:
            self._wrong_column(atom, index, own, type)

    def _into(self, atom: CoreAtom, index: int) -> model.Term:
        """A value as an argument of a column."""
        written = atom.arguments[index]
        type = self._inference.column(atom.predicate, index)
        if isinstance(written, CONSTANTS):
            return self._constant(written, type, self._column_note(atom, index))
        own = self._type(written)
        term = self._term(written)
        if own is not type and not (own is Type.SYMBOL and type is Type.ANY):
            self._wrong_column(atom, index, own, type)
        return term

    def _wrong_column(self, atom: CoreAtom, index: int, own: Type, type: Type) -> None:
        relation = self._scope.relations[atom.predicate]
        written = atom.arguments[index]
        text = shown(written) if isinstance(written, tree.Variable) else source_text(written.span)
        message = f"{text} is {own.value}, but the column {relation.columns[index]} of {relation.display} is "
        message += str(relation.type_names[index] or type.value)
        labels = [Label(relation.column_spans[index], "declared here")] if relation.column_spans else []
        reason = self._inference.reason(self._rule, written)
        notes = [reason] if reason and reason not in message else []
        self._diagnostics.error("E0402", message, written.span, labels=labels, notes=notes)

    def _column_note(self, atom: CoreAtom, index: int) -> str:
        relation = self._scope.relations[atom.predicate]
        type = relation.type_names[index] or self._inference.column(atom.predicate, index).value
        if relation.auxiliary:
            return f"a value of type {type} is needed here"
        return f"the column {relation.columns[index]} of {relation.display} is {type}"

    # --- terms ---

    def _type(self, term: tree.Term) -> Type:
        return self._inference.term(self._rule, term)

    def _variable(self, variable: tree.Variable) -> model.Var:
        return model.Var(variable.name, self._type(variable))

    def _constant(self, term: tree.Term, type: Type, note: str | None) -> model.Const:
        literal = term.operand if isinstance(term, tree.Unary) else term
        if type is Type.FLOAT and isinstance(literal, tree.Number) and self._rule != FACTS:
            self.floats.append(literal)
        try:
            return model.Const(constant(term, type, self._scope), type)
        except DoesNotFitError as error:
            notes = [note] if note else []
            message = f"{source_text(term.span)} does not fit{error}"
            self._diagnostics.error(error.code, message, term.span, notes=notes)
            return model.Const(_something(type), type)

    def _term(self, term: tree.Term) -> model.Term:
        match term:
            case tree.Variable():
                return self._variable(term)
            case tree.Record(fields=fields) | tree.Branch(fields=fields):
                kinds = self._field_kinds(term) or (None,) * len(fields)
                return self._made(term, tuple(map(self._field, fields, kinds)))
            case tree.Unary(operator="-", operand=tree.Number()):
                return self._constant(term, self._type(term), self._inference.reason(self._rule, term))
            case tree.Unary(operator=operator, operand=operand):
                if operator == "bnot":
                    self.integers.add((term.span, self._type(term)))
                return self._apply(FUNCTORS[UNARY_OPERATORS[operator]], (operand,), term)
            case tree.Binary(operator=operator, left=left, right=right):
                return self._apply(FUNCTORS[operator], (left, right), term)
            case tree.Call(function=function, arguments=arguments):
                return self._apply(self._scope.functors[function], arguments, term)
            case tree.Cast():
                return self._cast(term)
            case _:
                return self._constant(term, self._type(term), self._inference.reason(self._rule, term))

    def _field_kinds(self, term: tree.Record | tree.Branch) -> tuple[Kind, ...]:
        """The types of the fields of a record, if they are known."""
        types = self._scope.types
        branch = "" if isinstance(term, tree.Record) else term.name
        structure = types.structure(term.type_name if isinstance(term, tree.Record) else types.branches.get(branch, ""))
        return () if structure is None else structure.branches.get(branch, ())

    def _field(self, written: tree.Term, kind: Kind | None) -> model.Term:
        """A value as a field; integers in a field of type any have the range of number."""
        term = self._term(written)
        if kind is not Type.ANY or self._type(written) is not Type.UNSIGNED or isinstance(term, model.Const):
            return term
        return model.Apply(CONVERSIONS[Type.UNSIGNED, Type.NUMBER], (term,), Type.NUMBER)

    def _made(self, term: tree.Record | tree.Branch, fields: tuple[model.Term, ...]) -> model.Term:
        """A record that is made of its fields; a constant if they all are."""
        values = [field.value for field in fields if isinstance(field, model.Const)]
        if len(values) == len(fields):
            branch = term.name if isinstance(term, tree.Branch) else ""
            return model.Const(Record(tuple(values), branch), Type.RECORD)
        return model.Apply("record", (_form(term), *fields), Type.RECORD)

    def _apply(self, functor: Functor, written: tuple[tree.Term, ...], term: tree.Term) -> model.Term:
        fits = self._check_parameters(functor, written) and self._check_pattern(functor.name, written)
        arguments = tuple(map(self._term, written))
        result = model.Apply(functor.name, arguments, self._type(term))
        return self._folded(result, term) if fits else result

    def _folded(self, result: model.Apply, term: tree.Term) -> model.Term:
        """The value, if all arguments are constants."""
        if result.function in ("/", "%") and _is_zero(result.arguments[1]):
            return self._without_value(result, term, "division by zero")
        if result.function == "substr" and any(map(_is_negative, result.arguments[1:])):
            return self._without_value(result, term, "start and length must not be negative")
        values = [a.value for a in result.arguments if isinstance(a, model.Const)]
        if len(values) < len(result.arguments) or result.function not in FOLDED:
            return result
        try:
            types = [argument.type for argument in result.arguments]
            return model.Const(fold(result.function, values, types, result.type), result.type)
        except NoValueError as error:
            return self._without_value(result, term, str(error))
        except TypeError:  # of other types than the context wants: a conflict, which is reported
            return result

    def _without_value(self, result: model.Apply, term: tree.Term, why: str) -> model.Term:
        self._has_no_value(term.span, why)
        return result

    def _has_no_value(self, span: Span, why: str) -> None:
        self._diagnostics.error("E0406", f"{source_text(span)} has no value: {why}", span)

    def _check_parameters(self, functor: Functor, written: tuple[tree.Term, ...]) -> bool:
        wrong = [i for i, argument in enumerate(written) if self._type(argument) not in functor.parameter(i)]
        # a constant next to a wrong argument only took over its type
        blamed = [i for i in wrong if not isinstance(written[i], CONSTANTS)] or wrong
        for index in blamed:
            argument, allowed = written[index], functor.parameter(index)
            if self._inference.clashed(self._rule, argument):
                continue
            text = f"{source_text(argument.span)} is {self._type(argument).value}"
            reason = self._inference.reason(self._rule, argument)
            notes = [reason] if reason else []
            message = f"{functor.name} takes {_listed(allowed)}, but {text}"
            self._diagnostics.error("E0404", message, argument.span, notes=notes)
        return not wrong

    def _cast(self, cast: tree.Cast) -> model.Term:
        own, wanted = self._type(cast.operand), self._scope.types.base(cast.type_name)
        operand = self._term(cast.operand)
        if own is wanted or (own is Type.SYMBOL and wanted is Type.ANY):
            return operand
        if (own, wanted) in CONVERSIONS:
            return model.Apply(CONVERSIONS[own, wanted], (operand,), wanted)
        message = f"{source_text(cast.operand.span)} is {own.value} and cannot be read as {cast.type_name}"
        convert = f"convert it: to_{'string' if wanted is Type.SYMBOL else wanted.value}(…)"
        self._diagnostics.error("E0408", message, cast.span, help=None if wanted is Type.ANY else convert)
        return operand


def _comparable(one: Type, other: Type) -> bool:
    """Whether values of the two types can be equal."""
    return one is other or {one, other} == {Type.SYMBOL, Type.ANY}


def _is_zero(term: model.Term) -> bool:
    return isinstance(term, model.Const) and not term.value


def _is_negative(term: model.Term) -> bool:
    return isinstance(term, model.Const) and isinstance(term.value, int) and term.value < 0


def _form(term: tree.Record | tree.Branch) -> model.Const:
    branch = term.name if isinstance(term, tree.Branch) else ""
    return model.Const(str(RecordForm(branch, len(term.fields))), Type.SYMBOL)


def _something(type: Type) -> Value:
    """A placeholder value after an error."""
    if type is Type.RECORD:
        return NIL
    return 0 if type.is_numeric else ""


def _listed(types: Types) -> str:
    order = [type.value for type in Type if type in types]
    return order[0] if len(order) == 1 else f"{', '.join(order[:-1])} or {order[-1]}"
