"""`holdfast query`: ask a materialised program."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
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
    program: options.ProgramFile,
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

    The values of the query's variables: a table on a terminal, tab-separated lines in a pipe.
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


def parameter_values(given: Sequence[str], query: PreparedQuery) -> dict[str, Value]:
    """The values of parameters: each text is read as a cell of a facts file, by the type that the query needs."""
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
    """A slip in the query should not wait until everything has been derived."""
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
    """The rows of a relation, made while they are written as JSON, which takes nothing but a list for an array."""

    def __init__(self, answer: RelationView) -> None:
        super().__init__()
        answer.check_memory()  # before anything is written
        self._answer = answer

    def __len__(self) -> int:
        return len(self._answer)

    def __iter__(self) -> Iterator[object]:
        return map(row_as_json, self._answer.sorted_rows())


def rows_as_text(answer: RelationView) -> Iterator[list[str]]:
    """The rows of a relation in their order, for a table or a pipe."""
    return (row_as_text(row, answer.types) for row in answer.sorted_rows())


def _show(answer: RelationView) -> None:
    if not answer.columns:
        terminal.line("true" if len(answer) else "false")
        if terminal.is_terminal(sys.stdout):
            terminal.note("to see why: " + ("holdfast why" if len(answer) else "holdfast why-not"))
    elif not terminal.is_terminal(sys.stdout):
        terminal.tab_separated(rows_as_text(answer))
    elif len(answer):
        terminal.table(answer.columns, rows_as_text(answer))
    else:
        terminal.line("no answers")
