"""`holdfast query`: query a materialised program."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli import codes, options, terminal
from holdfast.cli.cells import row_as_json, row_as_text
from holdfast.cli.command_line import Option, Positional
from holdfast.cli.evaluate import evaluate
from holdfast.errors import Diagnostic, UsageError
from holdfast.values import Type, Value
from holdfast.values.number_text import parse_float, parse_integer
from holdfast.values.records import parse_record
from holdfast.values.structures import Kind, Structure
from holdfast.values.term_text import parse_term

if TYPE_CHECKING:
    from holdfast import PreparedQuery, RelationView

EXAMPLE = "holdfast query examples/reachability/reachability.dl -F examples/reachability/facts 'path(1, x), x > 3'"


def query(
    program: options.ProgramOrStore,
    question: Annotated[
        str,
        Positional(metavar="QUERY", help="The query: the body of a rule, in quotes."),
    ],
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    parameter: Annotated[
        list[str],
        Option(
            "-P",
            "--parameter",
            metavar="NAME=VALUE",
            show_default=False,
            help="The value of $NAME in the query; may be given several times.",
        ),
    ] = [],  # noqa: B006  it is copied
    limit_facts: options.LimitFacts = None,
    limit_rounds: options.LimitRounds = None,
    limit_seconds: options.LimitSeconds = None,
    limit_memory: options.LimitMemory = None,
    no_module: options.NoModules = [],  # noqa: B006  it is copied
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
    functors: options.FunctorFiles = [],  # noqa: B006  it is copied
    json: options.AsJson = False,
) -> None:
    """Print the answers to a query.

    Prints the values of the query's variables: a table on a terminal, tab-separated lines in a pipe.
    """
    _check_syntax(question)
    limits = (limit_facts, limit_rounds, limit_seconds, limit_memory)
    base = evaluate(program, facts, limits, no_module, macro=macro, include=include, functors=functors)
    prepared = base.prepare(question)
    answer = prepared(parameter_values(parameter, prepared))
    if json:
        terminal.json(answer_as_json(answer))
    else:
        _show(answer)
        hint = _explaining(program, facts, question, answer) if terminal.is_terminal(sys.stdout) else None
        if hint is not None:
            terminal.note(f"to see why: {hint}")


def _explaining(program: Path, facts: list[Path], question: str, answer: RelationView) -> str | None:
    """The command that explains an answer, or the absence of one."""
    command, fact = ("why", _first_fact(question, answer)) if len(answer) else ("why-not", _asked_pattern(question))
    if fact is None:
        return None if answer.columns else f"holdfast {command}"
    return explaining(command, program, facts, fact)


def explaining(command: str, program: Path, facts: list[Path], fact: str) -> str:
    """The command that explains a fact or its absence, as one types it."""
    given = [word for path in facts for word in ("-F", str(path))]
    return shlex.join(["holdfast", command, str(program), *given, fact])


def _first_fact(question: str, answer: RelationView) -> str | None:
    """The fact of the first answer, if the query is one atom without wildcards."""
    from holdfast.explanations.terms import text_of

    row = dict(zip(answer.columns, answer.head(1)[0], strict=True))
    return _filled(question, lambda name: text_of(row[name]), None)


def _asked_pattern(question: str) -> str | None:
    """The pattern that nothing matches, if the query is one atom."""
    return _filled(question, lambda _: "_", "_")


def _filled(question: str, value: Callable[[str], str], wildcard: str | None) -> str | None:
    from holdfast.language import parse_body, tree
    from holdfast.language.printer import show_name, show_term

    atom = parse_body(question, "<query>")
    if not isinstance(atom, tree.Atom):
        return None
    parts: list[str | None] = []
    for argument in atom.arguments:
        match argument:
            case tree.Variable(name=name):
                parts.append(value(name))
            case tree.Wildcard():
                parts.append(wildcard)
            case tree.Number() | tree.String() | tree.IriTerm() | tree.PrefixedName() | tree.RdfLiteral():
                parts.append(show_term(argument))
            case _:
                return None
    return None if None in parts else f"{show_name(atom.name)}({', '.join(filter(None, parts))})"


def parameter_values(given: Sequence[str], query: PreparedQuery) -> dict[str, Value]:
    """Parse parameter values like cells of a facts file, by the type that the query needs."""
    kinds = dict(zip(query.parameters, query.kinds, strict=True))
    values: dict[str, Value] = {}
    for name, equals, text in (item.partition("=") for item in given):
        if not equals:
            help = "write -P NAME=VALUE, without $"
            raise UsageError(Diagnostic(codes.BAD_USAGE, f"{name} is not a parameter with a value", help=help))
        values[name] = _value(name, text, kinds.get(name, Type.SYMBOL))
    missing = [name for name in kinds if name not in values]
    if missing:
        message = f"the query has no value for ${missing[0]}"
        raise UsageError(Diagnostic(codes.BAD_USAGE, message, help=f"give one: -P {missing[0]}=VALUE"))
    return values


def _value(name: str, text: str, kind: Kind) -> Value:
    try:
        match kind:
            case Type.NUMBER | Type.UNSIGNED:
                return parse_integer(text, kind)
            case Type.FLOAT:
                return parse_float(text)
            case Type.ANY:
                return parse_term(text)
            case Structure():
                return parse_record(text, kind)
    except ValueError as error:
        raise UsageError(Diagnostic(codes.BAD_USAGE, f"the value of {name}: {text} {error}")) from error
    return text


def _check_syntax(question: str) -> None:
    """Check the query's syntax first: a typo should not surface only after everything has been derived."""
    from holdfast.language import parse_body

    parse_body(question, "<query>")


def answer_as_json(answer: RelationView) -> dict[str, object]:
    """A relation for `--json`."""
    return {
        "columns": list(answer.columns),
        "types": [type.value for type in answer.types],
        "size": len(answer),
        "rows": _Rows(answer),
    }


class _Rows(list[object]):
    """The rows of a relation, produced while JSON is written; a list because `json` encodes only lists as arrays."""

    def __init__(self, answer: RelationView) -> None:
        super().__init__()
        answer.check_memory()  # fails before any output
        self._answer = answer

    def __len__(self) -> int:
        return len(self._answer)

    def __iter__(self) -> Iterator[object]:
        return map(row_as_json, self._answer.sorted_rows())


def rows_as_text(answer: RelationView) -> Iterator[list[str]]:
    """The sorted rows of a relation, for a table or a pipe."""
    return (row_as_text(row, answer.types) for row in answer.sorted_rows())


def _show(answer: RelationView) -> None:
    if not answer.columns:
        terminal.line("true" if len(answer) else "false")
    elif not terminal.is_terminal(sys.stdout):
        terminal.tab_separated(rows_as_text(answer))
    elif len(answer):
        terminal.table(answer.columns, rows_as_text(answer))
    else:
        terminal.line("no answers")
