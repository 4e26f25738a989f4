"""The workloads that fit into one recursive query of SQL, written as one would by hand."""

from __future__ import annotations

_CLOSURE = """
CREATE TABLE path AS
WITH RECURSIVE reached(c1, c2) AS (
    SELECT c1, c2 FROM edge
    UNION
    SELECT edge.c1, reached.c2 FROM edge JOIN reached ON edge.c2 = reached.c1
) SELECT * FROM reached
"""

QUERIES = {
    "tc-random": _CLOSURE,
    "chain": _CLOSURE,
    "dag-linear": _CLOSURE,
    "cliques-linear": """
CREATE TABLE conn AS
WITH RECURSIVE sides(c1, c2) AS (SELECT c1, c2 FROM link UNION SELECT c2, c1 FROM link),
reached(c1, c2) AS (
    SELECT c1, c2 FROM sides
    UNION
    SELECT sides.c1, reached.c2 FROM sides JOIN reached ON sides.c2 = reached.c1
) SELECT * FROM reached
""",
    "sspe": """
CREATE TABLE d AS
WITH RECURSIVE lengths(c1, c2) AS (
    SELECT c2, c3 FROM b WHERE c1 = 0
    UNION
    SELECT b.c2, lengths.c2 + b.c3 FROM lengths JOIN b ON lengths.c1 = b.c1
) SELECT * FROM lengths
""",
    "same-generation": """
CREATE TABLE sg AS
WITH RECURSIVE peers(c1, c2) AS (
    SELECT one.c1, other.c1 FROM par one JOIN par other ON one.c2 = other.c2 WHERE one.c1 <> other.c1
    UNION
    SELECT one.c1, other.c1 FROM peers JOIN par one ON one.c2 = peers.c1 JOIN par other ON other.c2 = peers.c2
) SELECT * FROM peers
""",
}
