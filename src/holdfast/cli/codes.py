"""The error codes of the command line itself."""

from __future__ import annotations

INTERNAL = "E0002"
BAD_USAGE = "E0010"
NO_SUCH_FILE = "E0011"
UNREADABLE = "E0012"
BAD_AMOUNT = "E0013"
CANNOT_WRITE = "E0014"
NO_RESULT = "E1201"
OTHER_FORMAT = "E1202"
BAD_RESULT = "E1203"
OTHER_SIZE = "E1204"
NOTHING_IN_COMMON = "E1205"
BAD_THRESHOLD = "E1206"

ALL_CODES: dict[str, str] = {
    INTERNAL: "holdfast itself failed; this is a bug",
    BAD_USAGE: "the command line has a wrong option or argument",
    NO_SUCH_FILE: "a file or folder named on the command line does not exist",
    UNREADABLE: "a file named on the command line cannot be read as text",
    BAD_AMOUNT: "an amount of memory is not a number with a known unit",
    CANNOT_WRITE: "a file or folder cannot be written",
    NO_RESULT: "a file is not a result of `make bench`",
    OTHER_FORMAT: "a result of `make bench` has an unknown format",
    BAD_RESULT: "a result of `make bench` has an invalid value",
    OTHER_SIZE: "two results to compare are of different sizes",
    NOTHING_IN_COMMON: "two results to compare have nothing in common",
    BAD_THRESHOLD: "the threshold of a comparison is below 1",
}
