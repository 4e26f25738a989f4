"""Arguments and options that several commands share, and how to parse them."""

from __future__ import annotations

import re
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli import codes
from holdfast.cli.command_line import Option, Positional
from holdfast.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from holdfast import Limits
    from holdfast.language.preprocessor import Preprocessing
    from holdfast.modules import Module
    from holdfast.spark_session import SparkOptions

ProgramFile = Annotated[
    Path,
    Positional(
        metavar="PROGRAM",
        help="The program, a .dl file; - for standard input.",
    ),
]
ProgramOrStore = Annotated[
    Path,
    Positional(
        metavar="PROGRAM",
        help="The program, a .dl file, or the folder of a store; - for standard input.",
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print JSON, errors included.")]
FactsOption = Annotated[
    list[Path],
    Option(
        "-F",
        "--facts",
        metavar="PATH",
        show_default=False,
        help="A folder with facts files, or an RDF file; may be given several times.",
    ),
]
LimitFacts = Annotated[
    int | None, Option(metavar="N", min=1, help="Stop with exit code 3 when there are more facts than this.")
]
LimitRounds = Annotated[
    int | None, Option(metavar="N", min=1, help="Stop when a recursive hyper-node takes more rounds than this.")
]
LimitSeconds = Annotated[
    float | None, Option(metavar="S", min=0, help="Stop when the run takes longer than this, in seconds.")
]
LimitMemory = Annotated[
    str | None, Option(metavar="SIZE", help="Stop when the run uses more memory than this: 512M, 4G.")
]

Algorithms = Annotated[
    list[str],
    Option(
        "--algorithm",
        metavar="[RELATION=]NAME",
        show_default=False,
        help="How to maintain everything, or one relation's hyper-node: auto, counting, dred, …",
    ),
]
Strategy = Annotated[
    str, Option("--strategy", metavar="NAME", help="How to remove rules: counters, or hyper-node to recompute.")
]

MacrosOption = Annotated[
    list[str],
    Option(
        "-M", "--macro", metavar="NAME[=TEXT]", show_default=False, help="Define a macro; may be given several times."
    ),
]
Include = Annotated[
    list[Path],
    Option(
        "-I",
        "--include",
        metavar="FOLDER",
        show_default=False,
        help="Search for included files here too; may be given several times.",
    ),
]
FunctorFiles = Annotated[
    list[Path],
    Option(
        "--functors",
        metavar="FILE",
        show_default=False,
        help="A Python file that registers functors with holdfast.functor; may be given several times.",
    ),
]
NoModules = Annotated[
    list[str],
    Option(
        "--no-module",
        metavar="NAME",
        show_default=False,
        help="Turn a module off, or all of them: `all`.",
    ),
]
EngineOption = Annotated[
    str,
    Option("--engine", metavar="NAME", help="The engine: memory or parted, in this process, or spark."),
]
Master = Annotated[
    str | None,
    Option("--master", metavar="URL", show_default=False, help="Spark's master; by default this machine."),
]
Conf = Annotated[
    list[str],
    Option("--conf", metavar="K=V", show_default=False, help="A Spark setting; may be given several times."),
]

LimitValues = tuple[int | None, int | None, float | None, str | None]
"""The four limits as they were given: facts, rounds, seconds, memory."""

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def repeated(name: str, metavar: str, help: str) -> Option:
    """Declare an option that may be repeated."""
    return Option(name, metavar=metavar, show_default=False, help=help)


def limits(facts: int | None, rounds: int | None, seconds: float | None, memory: str | None) -> Limits:
    """The four limits, parsed for the library."""
    size = None if memory is None else bytes_of(memory)
    from holdfast import Limits

    return Limits(facts=facts, rounds=rounds, seconds=seconds, memory=size)


def modules(without: Sequence[str]) -> tuple[Module, ...]:
    """The modules that `--no-module` leaves enabled."""
    from holdfast.modules import MODULES, named

    unwanted = MODULES if "all" in without else named(without)
    return tuple(module for module in MODULES if module not in unwanted)


def preprocessing(macros: Sequence[str], include: Sequence[Path]) -> Preprocessing:
    """Macro definitions and include folders, for the library."""
    from holdfast.language.preprocessor import Preprocessing

    pairs = (text.partition("=") for text in macros)
    return Preprocessing({name: text if equals else "1" for name, equals, text in pairs}, tuple(include))


def load_functors(paths: Sequence[Path]) -> None:
    """Run the Python files that register functors."""
    for path in paths:
        try:
            runpy.run_path(str(path))
        except Exception as error:
            message = f"{path} does not run: {error.__class__.__name__}: {error}"
            raise UsageError(Diagnostic(codes.UNREADABLE, message)) from error


def engine(name: str, master: str | None, conf: list[str]) -> str | SparkOptions:
    """The chosen engine, for the library."""
    if name.startswith("spark"):
        from holdfast.knowledge.engines import shards_of
        from holdfast.spark_session import SparkOptions, parsed_conf

        shards = shards_of(name)
        if shards or name == "spark":
            more = {"spark.holdfast.shards": str(shards)} if shards else {}
            return SparkOptions(master, {**parsed_conf(conf), **more})
    if master is not None or conf:
        raise UsageError(Diagnostic("E1004", "--master and --conf need the spark engine", help="add --engine spark"))
    return name


def bytes_of(size: str) -> int:
    """Parse a number of bytes such as `4G`, `512 MiB` or `1000000`."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", size, re.IGNORECASE)
    if found is None:
        raise UsageError(
            Diagnostic(
                codes.BAD_AMOUNT,
                f"`{size}` is not an amount of memory",
                help="write a number with K, M, G or T, for example 4G",
            )
        )
    return int(float(found[1]) * _UNITS[found[2].upper()])
