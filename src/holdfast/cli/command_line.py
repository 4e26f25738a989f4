"""Parse a command line into the arguments of a function, and print help.

A command is a function whose annotations declare its parameters: `Annotated[int, Option("--n")]`.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from types import UnionType
from typing import Any, TypeAlias, get_args, get_type_hints

from holdfast.cli import codes
from holdfast.errors import Diagnostic, UsageError
from holdfast.quick_dataclass import dataclass

Function: TypeAlias = Callable[..., None]


class Exit(Exception):
    """Ends a command early, with an exit code."""

    def __init__(self, exit_code: int = 0) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Positional:
    """A positional parameter."""

    metavar: str
    help: str


@dataclass(frozen=True)
class Option:
    """A named parameter: `-F`, `--facts`; its name defaults to that of the Python parameter."""

    names: tuple[str, ...]
    metavar: str | None
    help: str
    min: float | None
    show_default: bool

    def __init__(
        self,
        *names: str,
        help: str,
        metavar: str | None = None,
        min: float | None = None,
        show_default: bool = True,
    ) -> None:
        values = {"names": names, "metavar": metavar, "help": help, "min": min, "show_default": show_default}
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class _Parameter:
    """A parameter of a command's function."""

    name: str
    type: Any  # the type of one value
    declared: Positional | Option
    default: Any
    is_list: bool

    @property
    def names(self) -> tuple[str, ...]:
        if isinstance(self.declared, Positional):
            return ()
        return self.declared.names or (f"--{self.name.replace('_', '-')}",)

    @property
    def is_flag(self) -> bool:
        return self.type is bool

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return self.declared.metavar if isinstance(self.declared, Positional) else self.names[-1]

    @property
    def start(self) -> Any:
        """Its default value."""
        return list(self.default) if self.is_list and not self.is_required else self.default


@dataclass(frozen=True)
class Command:
    """A command: its name, its function, an example."""

    path: str
    function: Function
    example: str
    parameters: tuple[_Parameter, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", tuple(_parameters(self.function)))

    @property
    def option_names(self) -> list[str]:
        """All options, including `--help`."""
        return [name for parameter in self.parameters for name in parameter.names] + ["--help"]

    @property
    def summary(self) -> str:
        """The first line of its description."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def run(self, words: Sequence[str]) -> None:
        """Parse the words and call the function; raises `UsageError` if the command does not accept them."""
        self.function(**_Reading(self, words).values())

    def help(self, width: int) -> str:
        """The help text: what the command does and which arguments it takes."""
        places = [parameter for parameter in self.parameters if not parameter.names]
        usage = " ".join(["Usage: holdfast", self.path, "[OPTIONS]", *map(_usage, places)])
        options = [_described(parameter) for parameter in self.parameters if parameter.names]
        sections = [
            usage,
            *_paragraphs(inspect.getdoc(self.function) or "", width),
            _table("Arguments:", [_described(parameter) for parameter in places], width),
            _table("Options:", [*options, ("--help", "Show this help and exit.")], width),
            f"Example:\n    {self.example}",
        ]
        return "\n\n".join(filter(None, sections)) + "\n"


def group_help(path: str, about: str, rows: Sequence[tuple[str, str]], example: str, width: int) -> str:
    """The help of a group of commands; rows that begin with a dash are options."""
    options = [row for row in rows if row[0].startswith("-")]
    sections = [
        f"Usage: {' '.join(filter(None, ('holdfast', path)))} [OPTIONS] COMMAND [ARGS]...",
        f"  {about}",
        _table("Options:", [*options, ("--help", "Show this help and exit.")], width),
        _table("Commands:", [row for row in rows if row not in options], width),
        f"Example:\n    {example}",
    ]
    return "\n\n".join(sections) + "\n"


def wrong(path: str, message: str, meant: str = "", names: Sequence[str] = ()) -> UsageError:
    """The error for a wrong command line, with a similar name or a pointer to the help."""
    similar = difflib.get_close_matches(meant, names, 1) if meant else []
    command = " ".join(filter(None, ("holdfast", path)))
    help = f"did you mean {similar[0]}?" if similar else f"`{command} --help` lists the options and arguments"
    return UsageError(Diagnostic(codes.BAD_USAGE, message, help=help))


# --- the parameters of a function --------------------------------------------------------------------


def _parameters(function: Function) -> Iterator[_Parameter]:
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        annotated, declared = get_args(hints[name])
        kinds = [kind for kind in get_args(annotated) if kind is not type(None)]
        is_list = getattr(annotated, "__origin__", None) is list
        one = kinds[0] if is_list or isinstance(annotated, UnionType) else annotated
        yield _Parameter(name, one, declared, parameter.default, is_list)


# --- parsing -----------------------------------------------------------------------------------------


class _Reading:
    """Parses one command line into values."""

    def __init__(self, command: Command, words: Sequence[str]) -> None:
        self._command = command
        self._words = list(reversed(words))
        self._options: Mapping[str, _Parameter] = {
            name: parameter for parameter in command.parameters for name in parameter.names
        }
        self._values: dict[str, Any] = {}

    def values(self) -> dict[str, Any]:
        """The arguments for the function."""
        places = list[str]()
        while self._words:
            word = self._words.pop()
            if word == "--":
                places += reversed(self._words)
                break
            if word.startswith("-") and word != "-":
                self._take_option(word)
            else:
                places.append(word)
        self._take_places(places)
        return {parameter.name: self._value(parameter) for parameter in self._command.parameters}

    def _take_option(self, word: str) -> None:
        name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        parameter = self._options.get(name)
        if parameter is None:
            raise wrong(self._command.path, f"unknown option {name}", name, self._command.option_names)
        if not parameter.is_flag:
            self._add(parameter, value if equals else self._behind(name))
        elif equals:
            raise self._wrong(f"{name} takes no value")
        else:
            self._values[parameter.name] = True

    def _behind(self, name: str) -> str:
        if not self._words:
            raise self._wrong(f"{name} needs a value")
        return self._words.pop()

    def _take_places(self, words: list[str]) -> None:
        for parameter in self._command.parameters:
            if isinstance(parameter.declared, Positional):
                count = len(words) if parameter.is_list else 1
                for word in words[:count]:
                    self._add(parameter, word)
                words = words[count:]
        if words:
            raise self._wrong(f"unexpected arguments: {' '.join(words)}")

    def _add(self, parameter: _Parameter, text: str) -> None:
        value = self._converted(parameter, text)
        if parameter.is_list:
            self._values.setdefault(parameter.name, []).append(value)
        else:
            self._values[parameter.name] = value

    def _converted(self, parameter: _Parameter, text: str) -> Any:
        try:
            value = parameter.type(text)
        except ValueError:
            raise self._wrong(_not_a_value(parameter, text)) from None
        least = getattr(parameter.declared, "min", None)
        if least is not None and not value >= least:
            raise self._wrong(f"the value of {parameter.shown} must be at least {least}")
        return value

    def _value(self, parameter: _Parameter) -> Any:
        if parameter.name not in self._values and parameter.is_required:
            raise self._wrong(f"{parameter.shown} is missing")
        return self._values.get(parameter.name, parameter.start)

    def _wrong(self, message: str) -> UsageError:
        return wrong(self._command.path, message)


def _not_a_value(parameter: _Parameter, text: str) -> str:
    if issubclass(parameter.type, Enum):
        known = ", ".join(f"'{kind.value}'" for kind in parameter.type)
        return f"{parameter.shown} must be one of {known}, not {text}"
    return f"the value of {parameter.shown} is not a {'whole ' if parameter.type is int else ''}number"


# --- help --------------------------------------------------------------------------------------------


def _usage(parameter: _Parameter) -> str:
    return parameter.shown + ("..." if parameter.is_list else "")


def _described(parameter: _Parameter) -> tuple[str, str]:
    declared, names = parameter.declared, ", ".join(parameter.names)
    if isinstance(declared, Positional):
        return declared.metavar, f"{declared.help}  [required]" if parameter.is_required else declared.help
    metavar = declared.metavar or ""
    if isinstance(parameter.type, type) and issubclass(parameter.type, Enum):
        metavar = f"[{'|'.join(kind.value for kind in parameter.type)}]"
    remarks = ["required"] if parameter.is_required else []
    if declared.show_default and not parameter.is_flag and parameter.default not in (None, [], inspect.Parameter.empty):
        remarks.append(f"default: {parameter.default}")
    if declared.min is not None:
        remarks.append(f"at least {declared.min}")
    return " ".join(filter(None, (names, metavar))), declared.help + "".join(f"  [{remark}]" for remark in remarks)


def _table(title: str, rows: Sequence[tuple[str, str]], width: int) -> str:
    """Names on the left, descriptions on the right."""
    import textwrap

    left = min(max((len(name) for name, _ in rows), default=0), 30)
    lines = list[str]()
    for name, text in rows:
        first, *others = textwrap.wrap(text, max(width - left - 4, 20)) or [""]
        lines += [f"  {name:<{left}}  {first}"] if len(name) <= left else [f"  {name}", f"  {'':<{left}}  {first}"]
        lines += [f"  {'':<{left}}  {other}" for other in others]
    return "\n".join([title, *lines]) if lines else ""


def _paragraphs(text: str, width: int) -> Iterator[str]:
    import textwrap

    for paragraph in text.split("\n\n"):
        yield textwrap.fill(paragraph, width, initial_indent="  ", subsequent_indent="  ")
