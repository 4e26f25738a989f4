"""What a fact holds: values as Python users see them, their texts, and their codes."""

from holdfast.values.model import NIL, BlankNode, Iri, Literal, Record, Row, Type, Value, quote

__all__ = ["NIL", "BlankNode", "Iri", "Literal", "Record", "Row", "Type", "Value", "quote"]
