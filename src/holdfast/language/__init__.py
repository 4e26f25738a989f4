"""The language: parsing text to the syntax tree, and printing it."""

from holdfast.language.formatter import format_source
from holdfast.language.parser import parse, parse_body
from holdfast.language.printer import show

__all__ = ["format_source", "parse", "parse_body", "show"]
