"""Programs of shapes that the random scripts do not have, with random facts and updates for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Any

import holdfast
from holdfast.updates import Update
from holdfast.values import Row

FEW = list(range(4))
TOWNS = ["a", "b", "c", "d"]
PEOPLE = [holdfast.Iri(f"http://example.org/{name}") for name in ("ann", "bob", "cleo")]
LABELS = [holdfast.Literal("Ann", None, "en"), holdfast.Literal("Ann", None, "fr"), "Ann", holdfast.BlankNode("b")]
WORDS = ["a", "b", "ab", "12", "7", "a b", 'q"uote', "ÿ"]
MIXED = [1, 2, "1", "x", holdfast.Iri("http://example.org/ann"), holdfast.Literal("1", None, "en")]


@dataclass(frozen=True)
class Shape:
    """Rules, and for each relation that gets facts the values of its columns."""

    rules: str
    base: dict[str, list[list[Any]]]

    def facts(self, dice: Random, most: int) -> dict[str, list[Row]]:
        return {name: self.rows(name, dice, dice.randint(0, most)) for name in self.base}

    def rows(self, name: str, dice: Random, number: int) -> list[Row]:
        drawn = [tuple(dice.choice(values) for values in self.base[name]) for _ in range(number)]
        return list(dict.fromkeys(drawn))

    def update(self, kb: holdfast.KnowledgeBase, dice: Random) -> Update:
        delete = {name: sorted(kb.explicit(name), key=str) for name in self.base}
        picked = {name: dice.sample(rows, min(len(rows), dice.randint(0, 2))) for name, rows in delete.items()}
        return Update(picked, {name: self.rows(name, dice, dice.randint(0, 2)) for name in self.base})


GRAPH = {"e": [FEW, FEW], "node": [FEW]}
SHAPES = {
    "limits": Shape(
        """
        .decl road(a: symbol, b: symbol, m: number)
        .decl start(a: symbol)
        .decl time(a: symbol, m: number)
        .decl far(a: symbol)
        .decl last(m: number)
        .decl late(a: symbol, n: number)
        time(a, min(0)) :- start(a).
        time(b, min(t + m)) :- time(a, t), road(a, b, m).
        far(a) :- road(a, _, _), !time(a, _).
        last(max(t)) :- time(_, t).
        late(a, n) :- start(a), n = count : { time(_, t), t > 1 }.
        """,
        {"road": [TOWNS, TOWNS, [1, 2, 5]], "start": [TOWNS]},
    ),
    "widest": Shape(
        """
        .decl road(a: symbol, b: symbol, m: number)
        .decl start(a: symbol)
        .decl width(a: symbol, m: number)
        .decl narrow(a: symbol)
        width(a, max(9)) :- start(a).
        width(b, max(n)) :- width(a, k), road(a, b, m), n = min(k, m).
        narrow(a) :- width(a, n), n < 3.
        """,
        {"road": [TOWNS, TOWNS, [1, 2, 5]], "start": [TOWNS]},
    ),
    "control": Shape(
        """
        .decl owns(a: symbol, b: symbol, n: number)
        .decl controls(a: symbol, b: symbol)
        .decl stake(a: symbol, b: symbol, n: number)
        .decl votes(a: symbol, n: number)
        .decl big(a: symbol, b: symbol, n: number)
        .decl free(b: symbol)
        controls(x, x) :- owns(x, _, _).
        stake(x, y, sum(n)) :- controls(x, z), owns(z, y, n).
        votes(x, count(z)) :- controls(x, z).
        controls(x, y) :- stake(x, y, s), s > 2.
        controls(x, y) :- votes(x, n), n > 1, owns(x, y, _).
        big(x, y, s) :- stake(x, y, s), s > 1, x != y.
        free(y) :- owns(_, y, _), !big(_, y, _).
        """,
        {"owns": [TOWNS, TOWNS, [0, 1, 2, 3]]},
    ),
    "floats": Shape(
        """
        .type Weight <: float
        .type Pair = [w: float, n: number]
        .decl e(x: float, y: number)
        .decl node(x: Weight)
        .decl half(x: float)
        .decl same(x: float)
        .decl other(x: float, y: float)
        .decl pair(p: Pair)
        .decl flat(x: number)
        .decl none(x: Weight)
        .decl all(s: float)
        .decl best(x: float, m: number)
        half(x / 2) :- e(x, _), x > 1 / 2.
        same(x) :- e(x, y), as(y, float) = x.
        other(x, as(y, float) / 2) :- e(x, y), x != 1, y = 1 + 2 / 2.
        pair([x, y]) :- e(x, y), x < 3.
        flat(as(x, number)) :- pair([x, 1]), x = 2 * x - 1.
        none(x) :- node(x), 0 = sum z : { e(z, _), z > x }.
        all(s) :- s = sum x * 1 / 2 : { e(x, _) }.
        best(x, m) :- m = max y : { e(x, y) }.
        """,
        {"e": [[0.0, 0.5, 1.0, 2.0], FEW], "node": [[0.5, 1.0, 7.0]]},
    ),
    "odd floats": Shape(
        """
        .decl e(x: float)
        .decl unlike(x: float, y: float)
        .decl alike(x: float)
        .decl over(x: float, y: float)
        .decl ends(x: float, y: float, m: float, n: float)
        .decl least(m: float)
        .decl most(m: float)
        .decl middle(m: float)
        .decl total(s: float)
        .decl mean(m: float)
        .decl low(m: float)
        .decl high(m: float)
        .decl power(x: float, y: float, z: float)
        .decl shown(x: float, s: symbol)
        unlike(x, y) :- e(x), e(y), x != y.
        alike(x) :- e(x), !unlike(x, x).
        over(x, y) :- e(x), e(y), x >= y.
        ends(x, y, min(x, y), max(x, y)) :- e(x), e(y).
        least(m) :- m = min x : { e(x) }.
        most(m) :- m = max x : { e(x) }.
        middle(m) :- m = median x : { e(x) }.
        total(s) :- s = sum x : { e(x) }.
        mean(m) :- m = mean x : { e(x) }.
        low(min(x)) :- e(x).
        high(max(x)) :- e(x).
        power(x, y, x ^ y) :- e(x), e(y), x != 0.5.
        shown(x, to_string(1.0 / (x * 0.0))) :- e(x).
        """,
        {"e": [[0.0, 0.5, 3.0, -2.0, 1e308, math.inf, -math.inf, math.nan]]},
    ),
    "odd texts": Shape(
        """
        .decl w(s: symbol)
        .decl v(x: any)
        .decl parted(s: symbol, t: symbol, p: symbol)
        .decl changed(s: symbol, t: symbol, r: symbol)
        .decl texts(x: any, s: symbol)
        .decl read(n: number)
        parted(s, t, split(s, t, 1)) :- w(s), w(t).
        changed(s, t, replace(s, t, "_")) :- w(s), w(t).
        texts(x, str(x)) :- v(x).
        read(to_number("0x1F")) :- w(_).
        """,
        {"w": [["", "a", "ab", "b,a"]], "v": [[*MIXED, *LABELS, 0.5]]},
    ),
    "empty groups": Shape(
        """
        .decl e(x: number, y: number)
        .decl node(x: number)
        .decl sums(x: number, n: number)
        .decl least(x: number, n: number)
        .decl halves(x: number, n: float)
        .decl loops(n: number)
        .decl both(n: number, k: number)
        .decl none(x: number)
        .decl headed(x: number, n: number)
        .decl nearest(x: number, y: number)
        .decl summed(n: number)
        .decl raised(x: number, n: number)
        .decl lowered(x: number, y: number, n: number)
        sums(x, n) :- node(x), n = sum y : { e(x, y), y > 1 }.
        least(x, m) :- node(x), m = min y : { e(x, y) }.
        halves(x, m) :- node(x), m = mean y : { e(x, y) }.
        loops(n) :- n = count : { e(x, x) }.
        both(n, k) :- n = count : { node(_) }, k = sum y : { e(_, y) }.
        none(x) :- node(x), 0 = count : { e(x, _) }.
        headed(x, count(y)) :- node(x), e(x, y), y != x.
        nearest(x, y) :- node(x), m = min y : { e(x, y) }, m > 0.
        summed(sum(y)) :- e(_, y).
        raised(x, sum(y + 1)) :- e(x, y).
        lowered(x + 1, max(y - 1), count(y)) :- e(x, y).
        """,
        GRAPH,
    ),
    "wildcards": Shape(
        """
        .decl e(x: number, y: number)
        .decl node(x: number)
        .decl source(x: number)
        .decl empty(x: number)
        .decl linked(x: number)
        .decl lone(x: number)
        .decl mixed(x: number)
        .decl hidden(x: number)
        .decl double(x: number)
        source(x) :- node(x), !e(_, x).
        empty(x) :- node(x), !e(_, _).
        linked(x) :- e(x, y), node(y).
        lone(x) :- node(x), !linked(x), !(e(x, x), node(x)).
        mixed(x) :- node(x), (e(x, y) ; e(y, x)), !e(y, y).
        hidden(x) :- e(x, _), !source(_).
        double(x) :- node(x), !(!e(x, _) ; !e(_, x)).
        """,
        GRAPH,
    ),
    "equivalence": Shape(
        """
        .decl e(x: number, y: number)
        .decl node(x: number)
        .decl same(x: number, y: number) eqrel
        .decl least(x: number, y: number)
        .decl apart(x: number, y: number)
        .decl linked(x: number, y: number)
        same(x, y) :- e(x, y).
        least(x, m) :- same(x, _), m = min y : { same(x, y) }.
        apart(x, y) :- node(x), node(y), !same(x, y).
        linked(x, y) :- same(x, z), node(z), e(z, y), x != y.
        """,
        GRAPH,
    ),
    "equations": Shape(
        """
        .decl e(x: number, y: number)
        .decl node(x: number)
        .decl chain(x: number, w: number)
        .decl back(x: number, y: number)
        .decl up(x: number)
        .decl split(x: number, y: number)
        chain(x, w) :- node(x), y = x + 1, z = y * 2, w = z - x, w != 3.
        back(x, y) :- e(x, y), z = y - x, z > 0, x = y - z.
        up(x) :- node(x).
        up(x + 1) :- up(x), x < 6.
        split(x / 2, x % 2) :- up(x).
        split(y, z) :- y = range(0, 3), z = y * y, up(z), !up(y + 3).
        """,
        GRAPH,
    ),
    "rdf": Shape(
        """
        @prefix ex: <http://example.org/> .
        ex:knows(ex:nobody, ex:nobody).
        ex:name(ex:nobody, "Personne"@fr).
        ex:label(x, str(l)) :- ex:name(x, l), lang(l) = "en".
        ex:unnamed(x) :- ex:knows(x, _), !ex:name(x, _).
        ex:friend(x, y) :- ex:knows(x, y).
        ex:friend(x, z) :- ex:friend(x, y), ex:knows(y, z).
        ex:tongues(x, n) :- ex:name(x, _), n = count : { ex:name(x, l), is_literal(l), lang(l) != "" }.
        """,
        {"ex:knows": [PEOPLE, PEOPLE], "ex:name": [PEOPLE, LABELS]},
    ),
    "mixed values": Shape(
        """
        .decl v(x: any, y: any)
        .decl w(x: any)
        .decl u(x: any)
        .decl t(x: any, n: number)
        w(x) :- v(x, y), x = y.
        w(y) :- w(x), v(x, y).
        u(x) :- v(x, _), !w(x), !is_iri(x).
        t(x, n) :- v(x, _), n = count : { v(x, _) }.
        """,
        {"v": [MIXED, MIXED]},
    ),
    "records": Shape(
        """
        .type List = [head: number, tail: List]
        .decl e(x: number, y: number)
        .decl way(x: number, y: number, l: List)
        .decl long(l: List)
        .decl begins(x: number)
        .decl short(x: number)
        way(x, y, [x, [y, nil]]) :- e(x, y), x < y.
        way(x, z, [x, l]) :- e(x, y), x < y, way(y, z, l).
        long(l) :- way(_, _, l), l = [_, [_, [_, _]]].
        begins(x) :- long([x, _]).
        short(x) :- way(_, _, [x, _]), !begins(x).
        short(x) :- e(x, _), !way(x, _, [x, [3, nil]]).
        """,
        {"e": [FEW, FEW]},
    ),
    "variants": Shape(
        """
        .type Tree = Leaf {n: number} | Both {l: Tree, r: Tree}
        .decl e(x: number, y: number)
        .decl tree(t: Tree)
        .decl right(x: number)
        .decl left(x: number)
        .decl total(n: number)
        tree($Both($Leaf(x), $Leaf(y))) :- e(x, y).
        tree(l) :- tree($Both(l, _)).
        right(x) :- tree($Both(_, $Leaf(x))).
        left(x) :- tree($Both($Leaf(x), _)), !right(x).
        total(n) :- n = sum x + y : { tree($Both($Leaf(x), $Leaf(y))) }.
        """,
        {"e": [FEW, FEW]},
    ),
    "words": Shape(
        """
        .decl word(w: symbol)
        .decl first(w: symbol, c: symbol)
        .decl pair(w: symbol)
        .decl numeric(w: symbol, n: number)
        .decl unpaired(w: symbol)
        .decl longest(n: number)
        first(w, substr(w, 0, 1)) :- word(w).
        pair(cat(a, b)) :- word(a), word(b), a != b, strlen(a) + strlen(b) < 4.
        numeric(w, to_number(w)) :- word(w), match("[0-9]+", w).
        unpaired(w) :- word(w), !pair(w), !contains(" ", w).
        longest(n) :- n = max strlen(w) : { word(w) }.
        """,
        {"word": [WORDS]},
    ),
    "components": Shape(
        """
        .comp Graph { .decl edge(x: number, y: number)  .decl path(x: number, y: number)
          path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z). }
        .init g = Graph
        .init h = Graph
        .decl only(x: number, y: number)
        .decl both(x: number, n: number)
        only(x, y) :- g.path(x, y), !h.path(x, y).
        both(x, n) :- g.path(x, _), n = count : { g.path(x, y), h.path(x, y) }.
        """,
        {"g.edge": [FEW, FEW], "h.edge": [FEW, FEW]},
    ),
    "several heads": Shape(
        """
        .decl e(x: number, y: number)
        .decl node(x: number)
        .decl p(x: number)
        .decl q(x: number, y: number)
        .decl twice(x: number, y: number) inline
        .decl r(x: number)
        twice(x, y) :- y = 2 * x, node(x).
        p(x), q(x, y) :- e(x, y), (node(x) ; node(y), x < y).
        r(y) :- p(x), twice(x, y), !q(y, _).
        """,
        GRAPH,
    ),
    "ranges": Shape(
        """
        .decl e(x: number, y: number)
        .decl node(x: number)
        .decl near(x: number)
        .decl below(x: number, y: number)
        .decl open(x: number)
        .decl squares(n: number)
        .decl absent(n: number)
        near(x) :- node(x), e(range(0, 2), x).
        below(x, range(x, 0)) :- node(x).
        below(x, range(x, range(x, x + 2) + 1)) :- e(x, x).
        open(x) :- node(x), !e(x, range(0, 2)).
        squares(n) :- n = sum x * x : { x = range(0, 4), node(x) }.
        absent(n) :- n = count : { x = range(0, 4), node(x), !e(x, _) }.
        """,
        GRAPH,
    ),
    "aggregates in terms": Shape(
        """
        .decl e(x: number, y: number)
        .decl node(x: number)
        .decl loop(x: number)
        .decl even(x: number)
        .decl more(x: number, n: number)
        .decl most(x: number, n: number)
        .decl total(s: number)
        loop(x) :- node(x), e(x, count : { e(_, x) }).
        even(x) :- node(x), count : { e(x, _) } = count : { e(_, x) }.
        more(x, 2 * count : { e(x, _) } + 1) :- node(x), !e(x, min y : { node(y) }).
        most(x, n) :- n = max c : { node(x), c = count : { e(x, _) } }.
        total(s) :- s = sum (y + count : { e(_, y) }) : { e(_, y) }.
        """,
        GRAPH,
    ),
    "witnesses": Shape(
        """
        .decl e(x: number, y: number)
        .decl node(x: number)
        .decl last(x: number, y: number)
        .decl free(x: number, y: number)
        .decl next(x: number, z: number)
        .decl both(x: number, m: number, n: number)
        .decl met(x: number, n: number)
        .decl bare(x: number)
        last(x, z) :- node(x), m = max y : { e(x, y) }, z = y, m > 1.
        free(x, y) :- node(x), m = max y : { e(x, y) }, !node(y).
        next(x, z) :- m = min y : { e(x, y) }, e(y, z).
        both(x, m, n) :- node(x), n = count : { e(y, _) }, m = min y : { e(x, y) }, y < 3.
        met(x, n) :- node(x), m = max y : { e(x, y) }, n = count : { e(_, y) }, y >= 0.
        bare(x) :- node(x), !e(x, y), m = max y : { node(y) }.
        """,
        GRAPH,
    ),
}
