"""The error codes that belong to the command line itself."""

from __future__ import annotations

INTERNAL = "E0002"
BAD_USAGE = "E0010"
NO_SUCH_FILE = "E0011"
UNREADABLE = "E0012"
BAD_AMOUNT = "E0013"
CANNOT_WRITE = "E0014"
OUT_OF_MEMORY = "E0015"

ALL_CODES: dict[str, str] = {
    INTERNAL: "holdfast itself failed; this is a bug of ours",
    BAD_USAGE: "the command line is not one that the command takes",
    NO_SUCH_FILE: "a file or folder named on the command line is not there",
    UNREADABLE: "a file named on the command line cannot be read as text",
    BAD_AMOUNT: "an amount such as the one of --limit-memory is not a number with a known unit",
    CANNOT_WRITE: "a file or folder cannot be written",
    OUT_OF_MEMORY: "the machine has no memory left",
}
