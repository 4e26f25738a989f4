"""The checked program: names, types, safety, strata, hyper-nodes."""

from holdfast.program.check import check, outline
from holdfast.program.query import check_query

__all__ = ["check", "check_query", "outline"]
