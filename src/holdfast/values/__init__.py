"""Values of facts: as Python users see them, as text, and as codes."""

from holdfast.values.model import NIL, BlankNode, Iri, Literal, Record, Row, Type, Value, quote

__all__ = ["NIL", "BlankNode", "Iri", "Literal", "Record", "Row", "Type", "Value", "quote"]
