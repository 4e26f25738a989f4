"""What a text means, held fixed by hand: the places where one reading had to be chosen."""

from __future__ import annotations

from threading import Thread

import pytest

from holdfast.errors import ProgramError
from holdfast.language import parse, parse_body, tree
from tests.language.shapes import body, rule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a + b * c", "(x = (a + (b * c)))"),
        ("x = a - b - c", "(x = ((a - b) - c))"),
        ("x = a ^ b ^ c", "(x = (a ^ (b ^ c)))"),
        ("x = -2^31", "(x = (- (2 ^ 31)))"),
        ("x = 2^-1", "(x = (2 ^ (- 1)))"),
        ("x = -a * b", "(x = ((- a) * b))"),
        ("x = a lor b lxor c land d", "(x = (a lor (b lxor (c land d))))"),
        ("x = a bor b bxor c band d", "(x = (a bor (b bxor (c band d))))"),
        ("x = a band b bshl c + d", "(x = (a band (b bshl (c + d))))"),
        ("x = a bshl 1 bshru 2 bshr 3", "(x = (((a bshl 1) bshru 2) bshr 3))"),
        ("lnot x = bnot y", "((lnot x) = (bnot y))"),
        ("x = a % b / c", "(x = ((a % b) / c))"),
        ("(x + 1) * 2 < y", "(((x + 1) * 2) < y)"),
    ],
)
def test_operators_bind_as_in_souffle(text: str, expected: str) -> None:
    assert body(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x<y", "(x < y)"),
        ("a<b, c>d", "((a < b) & (c > d))"),
        ("x<-1", "(x < (- 1))"),
        ("x<:y", "(x < :y)"),
        ("x=<http://a>", "(x = iri=http://a)"),
        ("x != <b>", "(x != iri=b)"),
        ("<http://p>(x), q(<http://a>)", "(iri:http://p[x] & plain:q[iri=http://a])"),
        ("p(x), 1<x, <urn:p>(x)", "(plain:p[x] & (1 < x) & iri:urn:p[x])"),
    ],
)
def test_a_less_sign_is_a_comparison_where_one_can_stand_and_an_iri_elsewhere(text: str, expected: str) -> None:
    assert body(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = max y:A(1,y)", "(x = <max y : plain:A[1 y]>)"),
        ("x = max y : { A(1, y) }", "(x = <max y : plain:A[1 y]>)"),
        ("x = count:A(_)", "(x = <count - : plain:A[_]>)"),
        ("x = count :A(_)", "(x = <count - : plain:A[_]>)"),
        ("x = sum a-b:A(a,b)", "(x = <sum (a - b) : plain:A[a b]>)"),
        ("x = max (a/b) : A(a,b,_)", "(x = <max (a / b) : plain:A[a b _]>)"),
        ("x = max (a)+b : A(a,b)", "(x = <max (a + b) : plain:A[a b]>)"),
        ("x = sum max(a, b) : A(a, b)", "(x = <sum Call:max[a b] : plain:A[a b]>)"),
        ("x = sum (max y:B(y)) : { A(x) }", "(x = <sum <max y : plain:B[y]> : plain:A[x]>)"),
        ("x = max(a,b), y:A(x)", "((x = Call:max[a b]) & prefixed:y:A[x])"),
        ("x = min(a,b,c) + 1", "(x = (Call:min[a b c] + 1))"),
        ("x = 1 + mean y : A(y)", "(x = (1 + <mean y : plain:A[y]>))"),
        ("x = count : { a(x), !b(x) ; c(x) }", "(x = <count - : ((plain:a[x] & (! plain:b[x])) | plain:c[x])>)"),
        ("5 = count : { a(x) }, b()", "((5 = <count - : plain:a[x]>) & plain:b[])"),
    ],
)
def test_aggregates_and_functors_of_the_same_name(text: str, expected: str) -> None:
    assert body(text) == expected


def test_a_declared_prefix_wins_over_the_target_of_an_aggregate() -> None:
    text = "@prefix y: <urn:y#> .\np(x) :- x = max (y:A) : { q(y:A) }, y:B(x)."
    (_, item) = parse(text).items
    assert isinstance(item, tree.Rule) and isinstance(item.body, tree.Conjunction)
    (equal, atom) = item.body.items
    assert isinstance(equal, tree.Comparison) and isinstance(equal.right, tree.Aggregate)
    assert isinstance(equal.right.target, tree.PrefixedName)
    assert isinstance(atom, tree.Atom) and atom.name.kind is tree.NameKind.PREFIXED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h(x, count(t)) :- b(x, t).", "plain:h[x <count t>] <- plain:b[x t]"),
        (
            "h(median(t + 1), min(t), max(t, u)) :- b(t, u).",
            "plain:h[<median (t + 1)> <min t> Call:max[t u]] <- plain:b[t u]",
        ),
        ("a(x), b(x) :- c(x).", "plain:a[x] & plain:b[x] <- plain:c[x]"),
        ("p(x):-q(x).", "plain:p[x] <- plain:q[x]"),
        ("p(x) :- x = 1.", "plain:p[x] <- (x = 1)"),
        ("p(1.5).", "plain:p[1.5/float]"),
        ("p(0x1F, 0b11, 3u, 007, 1e-3).", "plain:p[0x1F 0b11 3/unsigned 7 1e-3/float]"),
        ("p(-9223372036854775808).", "plain:p[(- 9223372036854775808)]"),
        ("'a:b''c'(X) :- 'd'(X).", "quoted:a:b'c[X] <- quoted:d[X]"),
        (
            'ex:p(:a, "chat"@fr, "1"^^xsd:byte, "2"^^<urn:t>).',
            "prefixed:ex:p[:a 'chat'@fr '1'^^xsd:byte '2'^^iri=urn:t]",
        ),
        ("p(ex:a.b, ex:c-d) :- x = ex:e.", "plain:p[ex:a.b ex:c-d] <- (x = ex:e)"),
        ('p("a\\t\\"\\\\\\u00e9").', "plain:p['a\\t\"\\\\é']"),
        ("count(x) :- count(x), output(x).", "plain:count[x] <- (plain:count[x] & plain:output[x])"),
    ],
)
def test_clauses(text: str, expected: str) -> None:
    assert rule(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!!!(a(x) ; b(x)), not c(x)", "((! (! (! (plain:a[x] | plain:b[x])))) & (! plain:c[x]))"),
        ("!x < y", "(! (x < y))"),
        ("(a(), b()), (c() ; (d() ; e()))", "(plain:a[] & plain:b[] & (plain:c[] | plain:d[] | plain:e[]))"),
        ('match("a.*", x), contains("b", x), true', "(Constraint:match['a.*' x] & Constraint:contains['b' x] & True)"),
        ("as(x, number) > range(1, 3)", "(as[x number] > Call:range[1 3])"),
        ("p(?x, _, _y).", "plain:p[?x _ _y]"),
    ],
)
def test_formulas(text: str, expected: str) -> None:
    assert body(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "p(x) :- q(x), x % 2 = 0. % even\n% a line\n  % indented\nr(1).",
        "% first\np(x) :- % after the neck\n q(x), % after a comma\n x % 2 = 0.\nr(1).",
        ".decl p(x: number) % after a declaration\n.output p % after a directive\np(1). r(2).",
        "/* a\n b */ p(1). // c\nr(2). /**/",
    ],
)
def test_percent_is_modulo_behind_a_term_and_a_comment_elsewhere(text: str) -> None:
    rules = [item for item in parse(text).items if isinstance(item, tree.Rule)]
    assert len(rules) == 2


def test_declarations_and_directives() -> None:
    program = parse(
        """
        .decl A, B(type:Type, y : number) btree inline
        .decl n()
        .decl ex:p(x:any)
        .type T <: symbol
        .type U = number
        .type V = T | U
        .input A(IO=file, delimiter="\\t"), .input B()
        .output A,B
        .limitsize A(n=10)
        .pragma "legacy"
        .pragma "a" "b"
        @prefix a-b: <urn:ab#> .
        #[name("r1")] #[tag("x")]
        a-b:p(1) :- true.
    """.replace(", .input B()", "\n.input B()")
    ).items
    declaration, nullary, prefixed, sub, alias, union, given, *_ = program
    assert isinstance(declaration, tree.Declaration)
    assert [name.text for name in declaration.names] == ["A", "B"]
    assert [(a.name, a.type_name) for a in declaration.attributes] == [("type", "Type"), ("y", "number")]
    assert declaration.qualifiers == ("btree", "inline")
    assert isinstance(nullary, tree.Declaration) and nullary.attributes == ()
    assert isinstance(prefixed, tree.Declaration) and prefixed.names[0].kind is tree.NameKind.PREFIXED
    assert isinstance(sub, tree.TypeDeclaration) and sub.subtype and sub.targets == ("symbol",)
    assert isinstance(alias, tree.TypeDeclaration) and not alias.subtype
    assert isinstance(union, tree.TypeDeclaration) and union.targets == ("T", "U")
    assert isinstance(given, tree.Directive)
    assert [(p.key, p.value) for p in given.parameters] == [("IO", "file"), ("delimiter", "\t")]
    assert isinstance(program[-1], tree.Rule)
    assert [(a.name, a.value) for a in program[-1].attributes] == [("name", "r1"), ("tag", "x")]
    assert program[-1].heads[0].name.text == "a-b:p"


def test_spans_point_at_what_was_written() -> None:
    (item,) = parse("p(x) :-\n  q(x, yy),\n  !r(x).").items
    assert isinstance(item, tree.Rule) and isinstance(item.body, tree.Conjunction)
    q, negated = item.body.items
    assert isinstance(q, tree.Atom)
    assert (item.span.line, item.span.column, item.span.end_line, item.span.end_column) == (1, 1, 3, 9)
    assert (q.arguments[1].span.line, q.arguments[1].span.column, q.arguments[1].span.end_column) == (2, 8, 10)
    assert (negated.span.line, negated.span.column) == (3, 3)


def test_a_query_may_end_with_a_dot_and_may_not_be_a_rule() -> None:
    assert parse_body("p(x).") == parse_body("p(x)")
    for text in ("p(x) :- q(x)", "p(x). q(x)", "", "x"):
        with pytest.raises(ProgramError):
            parse_body(text)


def test_an_empty_text_is_an_empty_program() -> None:
    assert parse("").items == parse(" \n// nothing\n").items == ()


def test_threads_do_not_mix_their_texts() -> None:
    texts = [f"p{i}(x) :- q{i}(x, {i}).\n" * 40 for i in range(6)]
    found: dict[int, tree.Program] = {}
    threads = [Thread(target=lambda i=i: found.update({i: parse(texts[i], str(i))})) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, program in found.items():
        assert {item.span.source.name for item in program.items} == {str(i)}
        assert program == parse(texts[i])
    assert len(found) == 6


def test_a_query_written_as_a_rule_is_refused_with_an_example() -> None:
    with pytest.raises(ProgramError, match="a query is a rule body"):
        parse_body("q(x) :- path(1, x).")


def test_the_target_of_an_aggregate_may_be_a_record() -> None:
    assert isinstance(parse_body("x = max [y, z] : { p(y, z) }"), tree.Comparison)


def test_a_name_with_the_empty_prefix_begins_an_item_after_a_declaration() -> None:
    """Its `:` was read as that of a functor's type."""
    program = parse(".functor f(x: number): number\n.decl a()\n:b().\n")
    assert [type(item).__name__ for item in program.items] == ["FunctorDeclaration", "Declaration", "Rule"]


@pytest.mark.parametrize("parameters", ["", "<B>"])
def test_an_iri_begins_an_item_after_a_component(parameters: str) -> None:
    """Its `<` was read as that of parameters."""
    program = parse(f".init x = A{parameters}\n<http://x/>(1).")
    assert [type(item).__name__ for item in program.items] == ["Init", "Rule"]
