"""Whatever a message quotes, it stays short: in the terminal, as JSON and in Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast import Limits, Update
from holdfast.errors import Diagnostic, HoldfastError, shortened
from tests.cli.shell import holdfast as command

LONG = 5000
TEXTS = {"digits": "7" * LONG, "letters": "x" * LONG, "words": "word " * (LONG // 5), "quotes": '\\"' * (LONG // 2)}
TYPED = ".decl s(x: number)\n.decl t(x: symbol, y: number)\n"


def _base() -> holdfast.KnowledgeBase:
    return holdfast.from_text(TYPED + "t(x, 1) :- t(x, 2).")


def _facts(rows: object) -> None:
    holdfast.from_text(TYPED, facts={"s": rows})  # type: ignore[dict-item]


CALLS: dict[str, Callable[[str], object]] = {
    "a rule to remove": lambda text: _base().apply(Update(remove_rules=[text])),
    "a rule to remove, as a rule": lambda text: _base().apply(Update(remove_rules=[f's(1) :- t("{text}", 1).'])),
    "a rule to add": lambda text: _base().apply(Update(add_rules=[f's("{text}") :- t(x, 1).'])),
    "a rule of many": lambda text: _base().apply(Update(add_rules=[f's(y) :- t("{text}", x).'])),
    "a fact": lambda text: _base().apply(Update(insert={"s": [(text,)]})),
    "a fact of another length": lambda text: _base().apply(Update(insert={"s": [(1, text)]})),
    "a relation": lambda text: _base().apply(Update(insert={text: [(1,)]})),
    "a row": lambda text: _facts([text]),
    "a long row": lambda text: _facts([(1, text)]),
    "a row with a large integer": lambda text: _facts([(10**LONG, text)]),
    "a row that is a large integer": lambda text: _facts([10**LONG]),
    "a value": lambda text: _facts([(text,)]),
    "an update": lambda text: Update.from_json({"insert": {"s": text}}),
    "an update with another key": lambda text: Update.from_json({text: {}}),
    "a functor": lambda text: holdfast.from_text(f'p(to_number(x)) :- q(x).\nq("{text}x").'),
    "a part of a string": lambda text: holdfast.from_text(f'p(substr(x, -1, 1)) :- q(x).\nq("{text}").'),
    "a query": lambda text: _base().query(f's("{text}")'),
    "a query of another relation": lambda text: _base().query(f'r(x), x = "{text}"'),
    "an engine": lambda text: holdfast.from_text("p(1).", engine=text),
    "an algorithm": lambda text: _base().apply(Update(), algorithm=text),
    "a module": lambda text: holdfast.from_text("p(1).", modules=[text]),
    "a file": lambda text: holdfast.open(text),
    "facts": lambda text: holdfast.from_text("p(1).", facts=text),
    "a limit": lambda text: Limits(seconds=text),  # type: ignore[arg-type]
    "a number": lambda text: holdfast.from_text(f"p({text})."),
    "a regular expression": lambda text: holdfast.from_text(f'p(1) :- match("({text}", "x").'),
    "an input": lambda text: holdfast.from_text(f'.decl p(x: number)\n.input p(filename="{text}")'),
    "an included file": lambda text: holdfast.from_text(f'.include "{text}"\n'),
    "a rule that includes": lambda text: _base().apply(Update(add_rules=f'.include "{text}"\n')),
    "a file name": lambda text: holdfast.from_text(f'.decl p(x: number)\n.input p(filename="../{text}")'),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("call", CALLS)
def test_a_message_is_short(call: str, text: str) -> None:
    with pytest.raises(HoldfastError) as caught:
        CALLS[call](TEXTS[text])
    for diagnostic in caught.value.diagnostics:
        said = [diagnostic.message, *diagnostic.notes, diagnostic.help or ""]
        assert max(map(len, said)) < (2100 if text == "words" else 700), said  # who knows where these end
        assert len(diagnostic.render()) < 5000


@pytest.mark.parametrize("name", ["s.facts", "s.csv", "s.jsonl"])
@pytest.mark.parametrize("text", TEXTS)
def test_messages_about_files_are_short(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.dl").write_text(TYPED, encoding="utf-8")
    Path("facts").mkdir()
    value = f'["{TEXTS[text]}"]' if name.endswith("l") else TEXTS[text]
    Path("facts", name).write_text(value + "\n", encoding="utf-8")
    for more in ((), ("--json",)):
        result = command("run", "p.dl", "-F", "facts", *more)
        assert result.code == 2 and len(result.out + result.err) < 1500, result


def test_a_stream_that_goes_on_writes_short_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.dl").write_text(TYPED, encoding="utf-8")
    lines = [{"remove_rules": [text]} for text in TEXTS.values()] + [{"insert": {"s": [[t]]}} for t in TEXTS.values()]
    Path("u.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    result = command("stream", "p.dl", "--updates", "u.jsonl", "--keep-going")
    assert result.code == 1 and len(result.out.splitlines()) == len(lines)
    assert max(map(len, result.out.splitlines())) < 1500


def test_what_is_said_after_a_long_value_is_kept() -> None:
    message = Diagnostic("E0001", f'the value "{"a b " * LONG}" and {"7" * LONG} do not fit').message
    assert message.endswith(" do not fit") and "(20,002 characters) and" in message
    assert shortened("abc", 3) == "abc" and shortened("abcd", 3) == "abc… (4 characters)"
