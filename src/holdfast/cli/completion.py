"""`holdfast completion`: a script that lets a shell complete commands and options, without starting holdfast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from holdfast.cli import terminal
from holdfast.cli.command_line import Positional

EXAMPLE = "source <(holdfast completion bash)"
Tree = Mapping[str, Sequence[str]]
"""The options of each command by its name: `run`, `pipeline run`; options common to all are under the empty name."""


class Shell(StrEnum):
    """A supported shell."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, Positional(metavar="SHELL", help="The shell: bash, zsh or fish.")],
) -> None:
    """Print a script for a shell's completion.

    It completes commands, options and file names. Load it in the shell's start-up file.
    """
    from holdfast.cli.main import options_of_commands

    terminal.text(script(shell, options_of_commands()))


def script(shell: Shell, commands: Tree) -> str:
    """The script for a shell."""
    match shell:
        case Shell.BASH:
            return _bash(commands)
        case Shell.ZSH:
            return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(commands)
        case Shell.FISH:
            return _fish(commands)


def _below(commands: Tree) -> dict[str, list[str]]:
    """The words that may follow each name: `run` follows `pipeline`."""
    found: dict[str, list[str]] = {"": []}
    for path in filter(None, commands):
        *before, last = path.split(" ")
        for depth, word in enumerate(before):
            words = found.setdefault(" ".join(before[:depth]), [])
            words += [word] if word not in words else []
        found.setdefault(" ".join(before), []).append(last)
    return found


def _bash(commands: Tree) -> str:
    """The script for bash and zsh; it avoids `path` and `words`, which are special variables in zsh."""
    below = _below(commands)
    steps = "|".join(f'"{before} {word}"' for before, words in below.items() for word in words)
    names = "\n".join(f'        "{path}") offered="{" ".join(words)}";;' for path, words in below.items())
    options = "\n".join(f'        "{path}") offered="{" ".join(words)}";;' for path, words in commands.items())
    return f"""\
_holdfast() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" chosen="" offered="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$chosen $word" in
        {steps}) chosen="${{chosen:+$chosen }}$word";;
        esac
    done
    if [[ "$current" == -* ]]; then
        case "$chosen" in
{options}
        esac
    else
        case "$chosen" in
{names}
        esac
    fi
    COMPREPLY=($(compgen -W "$offered" -- "$current"))
}}
complete -o default -F _holdfast holdfast
"""


def _fish(commands: Tree) -> str:
    lines = [
        f"complete -c holdfast -n '{_fish_after(before)}' -f -a '{' '.join(words)}'"
        for before, words in _below(commands).items()
    ]
    for path, options in commands.items():
        lines += [f"complete -c holdfast -n '{_fish_after(path)}' {_fish_option(option)}" for option in options]
    return "\n".join(lines) + "\n"


def _fish_after(path: str) -> str:
    """The condition that these words are on the command line."""
    seen = [f"__fish_seen_subcommand_from {word}" for word in path.split()]
    return "; and ".join(seen) or "__fish_use_subcommand"


def _fish_option(option: str) -> str:
    return f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
