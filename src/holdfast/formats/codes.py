"""The codes of data errors, with their meanings."""

from __future__ import annotations

from typing import Final

ALL_CODES: Final[dict[str, str]] = {
    "E0601": "the file does not exist",
    "E0602": "the file cannot be read",
    "E0603": "the file is not gzip, or is truncated",
    "E0604": "the file is not UTF-8 text",
    "E0605": "a row has too few or too many values",
    "E0606": "a value does not fit the type of its column",
    "E0607": "a file name leads out of the facts folder",
    "E0608": "two files hold facts for the same relation",
    "E0609": "a directive has a parameter that does not exist",
    "E0610": "a parameter has a value it cannot have",
    "E0611": "the file cannot be written",
    "E0612": "a value cannot be written in this format",
    "E0613": "a line is not JSON",
    "E0614": "the file is not Parquet",
    "E0615": "the columns are not those of the relation",
    "E0616": "a quoted value is not closed",
    "E0617": "a line of a relation without columns is not ()",
    "E0618": "unknown file format",
    "E0620": "the RDF has a syntax error",
    "E0621": "the RDF/XML declares a document type or entities",
    "E0622": "an RDF term does not fit the type of its column",
    "E0623": "a fact cannot be written as RDF",
    "E0624": "two relations or outputs share one file",
    "E0625": "an output would overwrite the program or a file that was read",
    "E0630": "facts given from Python have an unsupported shape",
}
