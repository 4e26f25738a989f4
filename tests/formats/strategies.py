"""Random relations with random facts, nasty values included."""

from __future__ import annotations

from hypothesis import strategies as st

from holdfast.values import BlankNode, Iri, Literal, Row, Type, Value
from tests.formats.relations import relation

XSD = "http://www.w3.org/2001/XMLSchema#"
NASTY = [
    "",
    " ",
    "1",
    "-0",
    "1.0",
    "1e5",
    "nan",
    "inf",
    "<a:b>",
    "_:x",
    '"',
    '"x"',
    '"x"@en',
    "\\",
    "\\t",
    "0x1F",
    "a,b",
    "a\tb",
    "a\nb",
    "a\r",
    "\r\n",
    "\ufeff",
    "\x00",
    "é",
    "😀",
    "\x85",
    "\u2028",
    "()",
    "null",
    "true",
    "|",
    "a||b",
]
strings = st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=6))
plain_strings = strings.filter(lambda text: not set(text) & set("\t\n\r"))
numbers = st.one_of(st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]), st.integers(-(2**63), 2**63 - 1))
unsigned = st.one_of(st.sampled_from([0, 2**64 - 1]), st.integers(0, 2**64 - 1))
floats = st.one_of(st.sampled_from([0.0, 1.0, -3.5, 1e16, 5e-324, float("inf")]), st.floats())
names = st.text("abcXYZ019-", min_size=1, max_size=4)
iris = names.map(lambda name: Iri(f"http://example.org/{name}"))
literals = st.one_of(
    st.builds(lambda text: Literal(text, None, "en"), strings),
    st.builds(lambda text: Literal(text, XSD + "date"), strings),
    st.sampled_from(
        [Literal("01", XSD + "integer"), Literal("1.0", XSD + "double"), Literal("-0.0E0", XSD + "double")]
    ),
)
blank_nodes = names.map(lambda name: BlankNode("b" + name.strip("-")))
odd_terms = st.one_of(
    strings.filter(lambda text: not text.startswith("_:")).map(Iri),  # in JSON that is a blank node
    strings.map(BlankNode),
    st.builds(lambda text, datatype: Literal(text, XSD[:-1] + datatype), strings, strings),
    st.builds(lambda text, language: Literal(text, None, language), strings, strings),
)
"""Terms that RDF does not have, but Python: with blanks, quotes, brackets in them."""
any_values = st.one_of(strings, numbers, floats, iris, literals, blank_nodes)

VALUES: dict[Type, st.SearchStrategy[Value]] = {
    Type.NUMBER: numbers,
    Type.UNSIGNED: unsigned,
    Type.FLOAT: floats,
    Type.SYMBOL: strings,
    Type.ANY: any_values,
}
PLAIN_VALUES = {**VALUES, Type.SYMBOL: plain_strings}


@st.composite
def facts(draw: st.DrawFn, values: dict[Type, st.SearchStrategy[Value]] = VALUES):
    """A relation and rows for it."""
    types = draw(st.lists(st.sampled_from([type for type in Type if type is not Type.RECORD]), max_size=4))
    rows: list[Row] = draw(st.lists(st.tuples(*(values[type] for type in types)), max_size=8))
    return relation(*types), rows
