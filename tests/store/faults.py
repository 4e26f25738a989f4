"""Faults at each system call of a history: what is found afterwards is a state that was acknowledged or under way."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from .disk import Disk
from .histories import Action, Run

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


def errors(actions: list[Action], tmp: Path, numbers: Iterable[int], kinds: Iterable[str] = KINDS) -> list[str]:
    """Each of some calls fails, in each way; gives the codes of errors that users saw."""
    seen = list[str]()
    for number in numbers:
        for kind in kinds:
            run = _run(tmp / "errors", _fault(number, kind)).perform(actions)
            _judge_all(run, tmp, random.Random(number))
            assert {code for code in run.errors if code.startswith("E13")} <= {"E1304", "E1305"}, (number, kind)
            seen += run.errors
            shutil.rmtree(tmp / "errors")
    return seen


def _fault(number: int, kind: str) -> Callable[[int, str], str | None]:
    def fault(call: int, name: str) -> str | None:
        match kind:
            case "full for good":
                return "full" if call >= number and name in _WRITING else None
            case "broken for a while":
                return "broken" if number <= call < number + 3 else None
        return kind if call == number else None

    return fault


def _run(root: Path, fault: Callable[[int, str], str | None] | None = None) -> Run:
    root.mkdir()
    return Run(Disk(root, fault), root / "kb")


def _judge_all(run: Run, tmp: Path, chance: random.Random) -> int:
    makers: list[Callable[[Path], None]] = [run.disk.after_kill, run.disk.after_power_cut]
    makers += [lambda to: run.disk.after_torn_writes(to, chance)]
    for make in makers:
        image = tmp / "image"
        make(image)
        run.judge(image / "kb", whole=chance.random() < OPENED)
        shutil.rmtree(image)
    return len(makers)
