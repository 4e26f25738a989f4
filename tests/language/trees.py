"""Random syntax trees over every kind of node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from holdfast.errors import SourceText, Span
from holdfast.language import tree
from holdfast.language.build import CONSTRAINTS, _has_aggregate
from holdfast.language.vocabulary import AGGREGATES, KEYWORDS, QUALIFIERS

_SOURCE = SourceText("<made>", "")
_NOWHERE = Span(_SOURCE, 1, 1, 1, 1)
_RESERVED = frozenset(KEYWORDS) | AGGREGATES | CONSTRAINTS | {"as", "nil", "autoinc"}


def _node(kind: type, *fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(lambda *values: kind(*values, span=_NOWHERE), *fields)


words = st.one_of(
    st.sampled_from(["x", "y", "edge", "a1", "X", "été", "b_c", "input", "output", "decl", "prefix", "u", "e1", "x0b"]),
    st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,6}", fullmatch=True),
).filter(lambda word: word not in _RESERVED)
dotted = st.lists(words, min_size=1, max_size=3).map(".".join)
texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)
prefixes = st.one_of(st.just(""), words)
locals_ = st.from_regex(r"[a-zA-Z0-9_](?:[a-zA-Z0-9_.%-]{0,4}[a-zA-Z0-9_-])?", fullmatch=True).filter(
    lambda text: "%" not in text
)
iris = st.one_of(
    st.sampled_from(["http://example.org/a", "urn:x:y", "", "relative#part", "http://e/ä?q=1&r=(2)"]),
    st.from_regex(r"[a-z]+:[a-z/#.]{0,8}", fullmatch=True),
)
quoted_texts = st.text(st.characters(blacklist_characters="\n", blacklist_categories=["Cs"]), max_size=6)

names = st.one_of(
    _node(tree.Name, words),
    _node(tree.Name, dotted),
    _node(tree.Name, quoted_texts, st.just(tree.NameKind.QUOTED)),
    _node(tree.Name, st.builds("{}:{}".format, prefixes, locals_), st.just(tree.NameKind.PREFIXED)),
    _node(tree.Name, iris, st.just(tree.NameKind.IRI)),
)

# --- terms ---

variables = _node(tree.Variable, st.one_of(words, words.map("?{}".format), words.map("_{}".format)))
numbers = st.one_of(
    _node(tree.Number, st.integers(0, 2**63 - 1).map(str), st.just(tree.NumberKind.NUMBER)),
    _node(tree.Number, st.integers(0, 2**63 - 1).map(hex), st.just(tree.NumberKind.NUMBER)),
    _node(tree.Number, st.integers(0, 2**64 - 1).map(str), st.just(tree.NumberKind.UNSIGNED)),
    _node(tree.Number, st.integers(0, 2**64 - 1).map(bin), st.just(tree.NumberKind.UNSIGNED)),
    _node(tree.Number, st.sampled_from(["1.5", "0.0", "1e10", "2.5E-3", "1e+2"]), st.just(tree.NumberKind.FLOAT)),
)
iri_terms = _node(tree.IriTerm, iris)
prefixed_names = _node(tree.PrefixedName, prefixes, locals_)
rdf_literals = st.one_of(
    _node(tree.RdfLiteral, texts, st.one_of(iri_terms, prefixed_names)),
    _node(tree.RdfLiteral, texts, st.none(), st.sampled_from(["fr", "en-GB", "de-AT-1996"])),
)
constants = st.one_of(numbers, _node(tree.String, texts), iri_terms, prefixed_names, rdf_literals)
leaves = st.one_of(variables, variables, _node(tree.Wildcard), constants, _node(tree.Nil))
functions = st.one_of(st.sampled_from(["cat", "strlen", "range"]), words)


_OPERATORS = ["+", "-", "*", "/", "%", "^", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor"]
_COMPARISONS = ["=", "!=", "<", "<=", ">", ">="]


@st.composite
def terms(draw: st.DrawFn, depth: int = 3) -> tree.Term:
    """Terms, at most so deep."""
    shape = draw(st.integers(0, 12)) if depth else 0
    inner = terms(depth - 1) if depth else leaves
    match shape:
        case 1:
            return draw(_node(tree.Unary, st.sampled_from(["-", "bnot", "lnot"]), inner))
        case 2 | 3 | 4:
            return draw(_node(tree.Binary, st.sampled_from(_OPERATORS), inner, inner))
        case 5:
            return draw(_node(tree.Call, functions, _tuples(inner)))
        case 6:
            return draw(_node(tree.Call, st.sampled_from(["min", "max"]), _tuples(inner, 2)))
        case 7:
            return draw(_node(tree.Cast, inner, words))
        case 8:
            return draw(_node(tree.Aggregate, st.just("count"), st.none(), formulas(depth - 1)))
        case 9:
            functions_ = st.sampled_from(sorted(AGGREGATES - {"count"}))
            return draw(_node(tree.Aggregate, functions_, inner, formulas(depth - 1)))
        case 10:
            return draw(_node(tree.Record, _tuples(inner)))
        case 11:
            return draw(_node(tree.Branch, dotted, _tuples(inner)))
        case 12:
            return draw(_node(tree.Call, words.filter(lambda word: word != "prefix").map("@{}".format), _tuples(inner)))
        case _:
            return draw(leaves)


def _tuples(of: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[Any]:
    return st.lists(of, min_size=least, max_size=3).map(tuple)


@st.composite
def formulas(draw: st.DrawFn, depth: int = 3) -> tree.Formula:
    """Formulas, at most so deep."""
    shape = draw(st.integers(0, 7 if depth else 3))
    inner = formulas(depth - 1) if depth else st.nothing()
    term = terms(min(depth, 2))
    match shape:
        case 1:
            return draw(_node(tree.Comparison, st.sampled_from(_COMPARISONS), term, term))
        case 2:
            return draw(_node(tree.Constraint, st.sampled_from(sorted(CONSTRAINTS)), st.tuples(term, term)))
        case 3:
            return draw(_node(tree.Truth, st.booleans()))
        case 4 | 5:
            return draw(_node(tree.Negation, inner))
        case 6:
            return draw(_several(tree.Conjunction, inner))
        case 7:
            return draw(_several(tree.Disjunction, inner))
        case _:
            return draw(_node(tree.Atom, names, _tuples(term)))


def _several(kind: Any, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    items = st.lists(inner.filter(lambda item: not isinstance(item, kind)), min_size=2, max_size=3)
    return _node(kind, items.map(tuple))


head_terms = st.one_of(terms(), _node(tree.HeadAggregate, st.sampled_from(sorted(AGGREGATES)), terms()))

# --- items ---

some_names = st.lists(names, min_size=1, max_size=3).map(tuple)
rules = _node(
    tree.Rule,
    st.lists(_node(tree.Atom, names, _tuples(head_terms)), min_size=1, max_size=2).map(tuple),
    st.one_of(st.none(), formulas()),
    st.lists(_node(tree.RuleAttribute, words, texts), max_size=2).map(tuple),
)
attributes = st.lists(_node(tree.Attribute, words, dotted), max_size=3).map(tuple)
rules = rules.map(
    lambda rule: (
        replace(rule, body=tree.Truth(True, span=_NOWHERE))
        if rule.body is None and any(_has_aggregate(argument) for head in rule.heads for argument in head.arguments)
        else rule
    )
)
declarations = _node(
    tree.Declaration,
    some_names,
    attributes,
    st.lists(st.sampled_from(sorted(QUALIFIERS)), max_size=2).map(tuple),
    st.lists(st.lists(words, min_size=1, max_size=2).map(tuple), max_size=2).map(tuple),
)
directives = _node(
    tree.Directive,
    st.sampled_from(["input", "output", "printsize", "limitsize"]),
    some_names,
    st.lists(_node(tree.Parameter, words, texts | words | st.just("12")), max_size=2).map(tuple),
)
types = st.one_of(
    _node(tree.TypeDeclaration, words, st.just(True), st.tuples(words)),
    _node(tree.TypeDeclaration, words, st.just(False), st.lists(words, min_size=1, max_size=3).map(tuple)),
    _node(tree.TypeDeclaration, words, st.just(True), st.sampled_from([("number",), ("symbol",)]), st.just(True)),
    _node(tree.RecordDeclaration, words, attributes),
    _node(
        tree.VariantDeclaration,
        words,
        st.lists(_node(tree.BranchDeclaration, words, attributes), min_size=1, max_size=3).map(tuple),
    ),
)
functor_declarations = _node(
    tree.FunctorDeclaration, words, st.lists(words, max_size=3).map(tuple), words, st.booleans()
)
orders = st.tuples(st.integers(0, 9), st.lists(st.integers(1, 9), max_size=3).map(tuple))
plans = _node(tree.PlanDirective, st.lists(orders, min_size=1, max_size=2).map(tuple))
component_types = _node(tree.ComponentType, words, st.lists(words, max_size=2).map(tuple))
inits = _node(tree.Init, words, component_types)
overrides = _node(tree.Override, words)
heads = _node(tree.Atom, _node(tree.Name, words), _tuples(terms()))
subsumptions = _node(tree.Subsumption, heads, heads, formulas())
pragmas = _node(tree.Pragma, texts, st.one_of(st.none(), texts))
prefix_items = _node(tree.Prefix, st.one_of(prefixes, st.sampled_from(["a-b", "c.d"])), iris)
_plain_items = st.one_of(
    *(rules, rules, declarations, directives, types, types, pragmas, prefix_items, functor_declarations),
    *(plans, inits, overrides, subsumptions),
)
components = _node(
    tree.Component,
    component_types,
    st.lists(component_types, max_size=2).map(tuple),
    st.lists(_plain_items, max_size=3).map(tuple),
)
items = st.one_of(_plain_items, _plain_items, components)


@st.composite
def programs(draw: st.DrawFn) -> tree.Program:
    """Programs of a few items."""
    return tree.Program(draw(st.lists(items, max_size=4).map(tuple)), _SOURCE)
