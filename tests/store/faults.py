"""Faults at each system call of a history: what is found afterwards is a state that was acknowledged or under way."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from .disk import Disk, Folder
from .histories import Action, Run, State

KINDS = ("full", "broken", "short", "full for good", "broken for a while")
OPENED = 0.1  # of the folders
_WRITING = ("create", "write", "mkdir")


def crashes(actions: list[Action], tmp: Path, chosen: Callable[[int], bool], seed: int = 0) -> int:
    """The process dies, or the power is cut, before each chosen call; gives the number of folders looked at.

    Some of the folders are opened, all are read.
    """
    run, images, chance = _run(tmp / "crashes"), 0, random.Random(seed)

    def look() -> None:
        nonlocal images
        if chosen(len(run.disk.calls)):
            images += _judge_all(run, tmp, chance)

    run.disk.watch = look
    run.perform(actions)
    assert run.errors == []
    return images + _judge_all(run, tmp, chance)


def calls(actions: list[Action], tmp: Path) -> list[str]:
    """The calls of a history without faults."""
    run = _run(tmp / "counted").perform(actions)
    assert run.errors == []
    shutil.rmtree(tmp / "counted")
    return run.disk.calls


@dataclass(frozen=True)
class Start:
    """A place in a history where the store is closed: the number of calls and actions before it, and what there is."""

    calls: int = 0
    actions: int = 0
    tree: Folder | None = None
    acknowledged: tuple[int, State] | None = None


def starts(actions: list[Action], tmp: Path) -> list[Start]:
    """The places from which a part of a history can be run by itself."""
    run, found = _run(tmp / "starts"), [Start()]
    reopened = (place for place, action in enumerate(actions, 1) if action.way == "reopen")

    def note() -> None:
        found.append(Start(len(run.disk.calls), next(reopened), deepcopy(run.disk.tree), run.acknowledged))

    run.closed = note
    run.perform(actions)
    shutil.rmtree(tmp / "starts")
    return found


def errors(
    actions: list[Action],
    tmp: Path,
    numbers: Iterable[int],
    kinds: Iterable[str] = KINDS,
    known: list[Start] | None = None,
    most: int | None = None,
) -> list[str]:
    """Each of some calls fails, in each way; gives the codes of errors that users saw.

    A run begins where the store was last closed before the call.  With `most`, one of the ways goes on to the end of
    the history, and the others until the store was opened again so often.
    """
    known, seen = known or starts(actions, tmp), list[str]()
    for number in numbers:
        start = max((start for start in known if start.calls <= number), key=lambda start: start.calls)
        for place, kind in enumerate(kinds):
            end = len(actions) if most is None or (number + place) % len(KINDS) == 0 else _end(known, start, most)
            run = _run(tmp / "errors", _fault(number - start.calls, kind), start)
            run.perform(actions[start.actions : end])
            _judge_all(run, tmp, random.Random(number))
            assert {code for code in run.errors if code.startswith("E13")} <= {"E1304", "E1305"}, (number, kind)
            seen += run.errors
            shutil.rmtree(tmp / "errors")
    return seen


def _end(known: list[Start], start: Start, most: int) -> int | None:
    """The action after which a run ends."""
    later = known[known.index(start) + 1 :][most - 1 : most]
    return later[0].actions if later else None


def _fault(number: int, kind: str) -> Callable[[int, str], str | None]:
    def fault(call: int, name: str) -> str | None:
        match kind:
            case "full for good":
                return "full" if call >= number and name in _WRITING else None
            case "broken for a while":
                return "broken" if number <= call < number + 3 else None
        return kind if call == number else None

    return fault


def _run(root: Path, fault: Callable[[int, str], str | None] | None = None, start: Start | None = None) -> Run:
    if start is None or start.tree is None:
        root.mkdir()
        return Run(Disk(root, fault), root / "kb")
    return Run(Disk(root, fault).holding(start.tree), root / "kb", start.acknowledged)


def _judge_all(run: Run, tmp: Path, chance: random.Random) -> int:
    makers: list[Callable[[Path], None]] = [run.disk.after_kill, run.disk.after_power_cut]
    makers += [lambda to: run.disk.after_torn_writes(to, chance)]
    for make in makers:
        image = tmp / "image"
        make(image)
        run.judge(image / "kb", whole=chance.random() < OPENED)
        shutil.rmtree(image)
    return len(makers)
