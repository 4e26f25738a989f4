"""The language: from text to the syntax tree and back."""

from holdfast.language.parser import parse, parse_body

__all__ = ["parse", "parse_body"]
