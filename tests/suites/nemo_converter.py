"""Nemo's language (.rls) said in ours: a converter just large enough for Nemo's own test cases.

What differs is said here, not in the engine: `~` is negation; an aggregate ranges over the distinct values of
its variables, not over the substitutions of the body, so the body is projected first; a bare name is a constant
(it becomes a string, as the cells of a CSV file do); `OR(…)` is a disjunction; an import is an `.input`.
Columns in which numbers and strings meet are declared `any`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<space>\s+|%.*)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<iri><[^>\s]*>)|(?P<var>\?\w+)"""
    r"""|(?P<number>\d+\.\d+(?:[eE][-+]?\d+)?|\d+)|(?P<name>@?[A-Za-z][\w%-]*(?::[\w%-]*)?|:[A-Za-z][\w-]*)"""
    r"""|(?P<sign>:-|!=|<=|>=|[-+*/<>=~#(){}.,_:])"""
)
CALLS = {"NUMGREATER": ">", "EQUALITY": "="}
Token = tuple[str, str]


@dataclass
class Conversion:
    """A program in our language; `rdf` is the RDF file it reads, where there is one."""

    text: str
    outputs: list[str]
    rdf: Path | None = None


@dataclass
class Converter:
    """The state of one conversion: the lines made so far."""

    folder: Path
    root: Path
    lines: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    facts: dict[str, list[list[str]]] = field(default_factory=dict)
    arities: dict[str, int] = field(default_factory=dict)
    rdf: Path | None = None
    imports: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    fresh: count[int] = field(default_factory=count)

    def run(self, text: str) -> Conversion:
        for statement in _statements(_tokens(text)):
            self.statement(statement)
        for relation, format_, parameters in self.imports:
            self.read_file(relation, format_, parameters)
        lines = self.declarations() + self.lines + [f".output {name}" for name in self.outputs]
        return Conversion("\n".join(lines) + "\n", self.outputs, self.rdf)

    # --- statements ----------------------------------------------------------------------------------

    def statement(self, tokens: list[Token]) -> None:
        match [text for _, text in tokens]:
            case ["@prefix", name, *_, iri]:
                self.lines.append(f"@prefix {'empty' if name == ':' else name.rstrip(':')}: {iri} .")
            case ["@import", relation, ":-", format_, "{", *rest]:
                self.imports.append((relation, format_, _parameters(rest)))
            case ["@export", relation, *_]:
                self.outputs.append(relation)
            case ["@output", *_]:
                pass  # the same relations are exported
            case _:
                self.rule(tokens)

    def rule(self, tokens: list[Token]) -> None:
        place = next((i for i, (_, text) in enumerate(tokens) if text == ":-"), len(tokens))
        head, body = self.formula(tokens[:place]), self.formula(tokens[place + 1 :])
        for name, arguments in re.findall(r"(\w+)\(([^()]*)\)", f"{head}, {body}"):
            self.arities.setdefault(name, len(arguments.split(",")))
        if not body:
            name, arguments = re.fullmatch(r"(\w+)\((.*)\)", head).groups()  # type: ignore[union-attr]
            self.facts.setdefault(name, []).append([a.strip() for a in re.findall(r'"[^"]*"|[^,]+', arguments)])
            self.lines.append(f"{head}.")
        elif "#" in head:
            self.aggregate(head, body)
        else:
            self.lines.append(f"{head} :- {body}.")

    def aggregate(self, head: str, body: str) -> None:
        variables = dict.fromkeys(re.findall(r"[?]\w+", head))
        projected = f"distinct{next(self.fresh)}({', '.join(variables)})"
        self.lines += [f"{projected} :- {body}.", f"{head.replace('#', '')} :- {projected}."]

    def read_file(self, relation: str, format_: str, parameters: dict[str, str]) -> None:
        file = (self.folder / parameters["resource"]).resolve()
        if format_ in ("rdf", "turtle"):
            self.rdf = file
            self.lines.append(f"{relation}(s, p, o) :- triple(s, p, o).")
            return
        number, arity = next(self.fresh), self.arities.get(relation, 1)
        variables = ", ".join(f"v{i}" for i in range(arity))
        headers = ", headers=true" if parameters.get("ignore_headers") == "true" else ""
        self.lines.append(f'.input file{number}(filename="{file.relative_to(self.root)}", delimiter=","{headers})')
        self.lines.append(f"{relation}({variables}) :- file{number}({variables}).")

    def declarations(self) -> list[str]:
        """Declarations, with `any` for columns of mixed constants; none when no column is mixed."""
        kinds = {
            name: [{_kind(cell) for cell in column} for column in zip(*rows, strict=True)]
            for name, rows in self.facts.items()
        }
        if not any(len(column) > 1 for columns in kinds.values() for column in columns):
            return []
        lines = []
        for name, arity in self.arities.items():
            columns = kinds.get(name, [set[str]()] * arity)
            types = [column.pop() if len(column) == 1 else "any" for column in columns]
            lines.append(f".decl {name}({', '.join(f'c{i}: {type_}' for i, type_ in enumerate(types))})")
        return lines

    # --- terms and literals --------------------------------------------------------------------------

    def formula(self, tokens: list[Token]) -> str:
        """Tokens as text of ours."""
        text, before = "", ""
        for i, (kind, word) in enumerate(tokens):
            after = tokens[i + 1][1] if i + 1 < len(tokens) else ""
            text += self.word(kind, word, before, after)
            before = word
        return _disjunctions(text).strip()

    def word(self, kind: str, word: str, before: str, after: str) -> str:
        if kind == "name":
            return self.name(word, before, after)
        if kind == "iri":
            return word if ":" in word else f'"{word[1:-1]}"'
        if word == "~":
            return "!"
        spaced = word in ("+", "*", "/", "=", "!=", "<", "<=", ">", ">=") or (word == "-" and before not in "(,")
        return f" {word} " if spaced else f"{word} " if word == "," else word

    def name(self, word: str, before: str, after: str) -> str:
        if after == "(" or before == "#":
            return word
        if word.startswith(":"):
            return f"empty{word}"
        return word if ":" in word else f'"{word}"'


def convert(file: Path, root: Path) -> Conversion:
    """A `.rls` file in our language; the files it imports are named relative to `root`."""
    return Converter(file.parent, root).run(file.read_text(encoding="utf-8"))


def _tokens(text: str) -> list[Token]:
    tokens, place = [], 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None:
            raise ValueError(f"not understood: {text[place : place + 30]!r}")
        place = found.end()
        if found.lastgroup != "space":
            tokens.append((str(found.lastgroup), found.group()))
    return tokens


def _statements(tokens: list[Token]) -> list[list[Token]]:
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token[1] == ".":
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def _parameters(words: list[str]) -> dict[str, str]:
    return {words[i - 1]: words[i + 1].strip('"') for i, word in enumerate(words) if word == "="}


def _kind(cell: str) -> str:
    return "symbol" if cell.startswith('"') else "float" if "." in cell else "number"


def _disjunctions(text: str) -> str:
    """`OR(NUMGREATER(a, b), EQUALITY(c, d))` as `(a > b ; c = d)`."""
    for name, operator in CALLS.items():
        text = re.sub(rf"{name}\(([^(),]*), ([^(),]*)\)", rf"\1 {operator} \2", text)
    return re.sub(r"OR\(([^(),]*), ([^(),]*)\)", r"(\1 ; \2)", text)
