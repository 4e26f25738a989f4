"""A query: a body over a checked program, as a small program that is evaluated on top of it."""

from __future__ import annotations

from holdfast.errors import Diagnostics
from holdfast.language import tree
from holdfast.program.aggregates import Expander
from holdfast.program.core import ANSWER, CoreProgram, formula_variables
from holdfast.program.desugar import desugar_rule
from holdfast.program.graph import hyper_nodes
from holdfast.program.inference import Inference
from holdfast.program.model import Program
from holdfast.program.names import KnownRelation, Names, add_functor, check_arity, formula_atoms, unknown_relation
from holdfast.program.nominal import check_nominal
from holdfast.program.parameters import PARAMETERS, is_parameter, with_parameters
from holdfast.program.rdf_views import check_query_views
from holdfast.program.records import with_record_types
from holdfast.program.safety import check_safety
from holdfast.program.type_names import TypeTable
from holdfast.program.typing import Typer

_MOST_NAMES = 12


def check_query(
    formula: tree.Formula, program: Program, *, answer_parameters: bool = False
) -> tuple[tuple[str, ...], Program]:
    """The query's columns, and the program to evaluate on top of the given one to answer it.

    The columns are the variables in order of appearance, without those that occur only inside aggregates or only inside
    a negated atom.  The answers are the facts of the relation `?`.  The program returned has all relations of the one
    below it, but only the query's own rules and hyper-nodes.  If the query has parameters, their values are the facts
    of the relation `?parameters`; with `answer_parameters` they are also the last columns of the answers.
    """
    diagnostics = Diagnostics()
    scope = _scope(program, diagnostics)
    _check_atoms(formula, scope)
    check_query_views(formula, program, scope)
    diagnostics.raise_errors()
    formula, parameters = with_parameters(formula, scope.types.branches)
    if parameters:
        names = tuple(f"${name}" for name in parameters)
        unknown = (None,) * len(names)
        scope.relations[PARAMETERS] = KnownRelation(
            PARAMETERS, PARAMETERS, names, unknown, formula.span, auxiliary=True
        )
    columns = (*_columns(formula), *(f"${name}" for name in parameters if answer_parameters))
    core = with_record_types(_core(formula, columns, scope), scope, diagnostics)
    check_safety(core, diagnostics)
    check_nominal(core, scope, diagnostics)
    typer = Typer(scope, Inference(core, scope, {}, diagnostics), diagnostics)
    aggregates, rules, relations = typer.aggregates(core), typer.rules(core), typer.relations()
    diagnostics.raise_errors()
    own = tuple(name for name in relations if name not in program.relations)
    nodes = hyper_nodes(own, rules, aggregates)
    warnings = diagnostics.warnings
    return columns, Program(relations, rules, aggregates, {}, nodes, program.prefixes, warnings, program.declared)


def _scope(program: Program, diagnostics: Diagnostics) -> Names:
    scope = Names(TypeTable((d for d in program.declared if isinstance(d, tree.AnyType)), diagnostics), diagnostics)
    scope.prefixes.update(program.prefixes)
    for declared in program.declared:
        if isinstance(declared, tree.FunctorDeclaration):
            add_functor(declared, scope)
    for relation in program.relations.values():
        names = tuple(column.name for column in relation.columns)
        types = tuple(column.type_name if column.structure else column.type.value for column in relation.columns)
        scope.relations[relation.name] = KnownRelation(
            relation.name, relation.display, names, types, relation.span, relation.auxiliary, declared=True
        )
    return scope


def _check_atoms(formula: tree.Formula, scope: Names) -> None:
    for atom in formula_atoms(formula):
        relation = scope.relations.get(scope.predicate_of(atom))
        if relation is not None:
            check_arity(atom, relation, scope.diagnostics)
        elif not scope.is_test(atom):
            unknown_relation(atom.name, scope, _those_there(scope))


def _those_there(scope: Names) -> str:
    """A note that lists the relations of the program."""
    known = [relation.display for relation in scope.relations.values() if not relation.auxiliary]
    more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    return f"the program has {', '.join(known[:_MOST_NAMES])}{more}" if known else "the program has no relations"


def _columns(formula: tree.Formula) -> tuple[str, ...]:
    lonely = {name for name, uses in _uses(formula).items() if uses == ["negated"]}
    names = dict.fromkeys(v.name for v in formula_variables(formula))
    return tuple(name for name in names if name not in lonely and not is_parameter(name))


def _uses(formula: tree.Formula, negated: bool = False) -> dict[str, list[str]]:
    """How each variable occurs: in a negated atom, or otherwise."""
    found: dict[str, list[str]] = {}
    match formula:
        case tree.Negation(operand=operand):
            found = _uses(operand, not negated)
        case tree.Conjunction(items=items) | tree.Disjunction(items=items):
            for item in items:
                for name, uses in _uses(item, negated).items():
                    found.setdefault(name, []).extend(uses)
        case _:
            how = "negated" if negated and isinstance(formula, tree.Atom) else "otherwise"
            for variable in formula_variables(formula):
                found.setdefault(variable.name, []).append(how)
    return found


def _core(formula: tree.Formula, columns: tuple[str, ...], scope: Names) -> CoreProgram:
    arguments = tuple(tree.Variable(name, span=formula.span) for name in columns)
    types = (None,) * len(columns)
    scope.relations[ANSWER] = KnownRelation(ANSWER, ANSWER, columns, types, formula.span, auxiliary=True)
    head = tree.Atom(tree.Name(ANSWER, span=formula.span), arguments, span=formula.span)
    expander = Expander(scope)
    desugar_rule(scope, expander, ANSWER, tree.Rule((head,), formula, span=formula.span))
    return CoreProgram(tuple(expander.rules), tuple(expander.aggregates), ())
