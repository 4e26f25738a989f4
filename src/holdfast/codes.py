"""The codes of errors that come up while facts are loaded and rules run, with what each means."""

from __future__ import annotations

from typing import Final

ALL_CODES: Final[dict[str, str]] = {
    "E0001": "an error that has no code of its own",
    "E0701": "a rule meets values for which it has no result",
    "E0801": "the limit on rounds was reached",
    "E0802": "the limit on facts was reached",
    "E0803": "the limit on seconds was reached",
    "E0804": "the limit on memory was reached",
    "E0805": "a fact has more derivations than are counted",
    "E0901": "a relation is asked for that the program does not mention",
    "E0902": "the program file cannot be read",
    "E0903": "there is nothing at a path that facts should come from",
    "E0904": "facts should come from a file that is neither a folder nor RDF",
    "E0905": "an algorithm or strategy is asked for that there is not",
    "E0906": "counting is asked for a recursive hyper-node",
    "E0907": "an update has not the form of one",
    "E0912": "with the rules of an update, a relation would have other types",
    "E0913": "an update of a program with .limitsize",
    "E0914": "exact is asked for a hyper-node that no module has to itself",
    "E0915": "a module is asked for that there is not",
    "E0916": "an engine is asked for that there is not",
    "E0917": "what the spark engine does not have is asked of it",
    "E0918": "several updates in one pass, and one of them changes rules",
    "E0919": "a queue or a window of updates of a size that there is not",
    "E0920": "an update is put into a queue that is closed",
    "E0921": "a folder of updates, or a file in it, cannot be read",
    "E0922": "an update was cut short and could not be taken back",
    "E0925": "facts are given for one relation of RDF statements and not for another that has the same ones",
    "E0926": "an argument of a call is not of the kind that the call takes",
    "E0927": "a method is asked for that a knowledge base does not have",
    "E0930": "there are no compiled kernels for this machine, and no Numba to compile them",
    "W0008": "a file is called after an empty relation, but has not the ending of a facts file",
    "W0015": "compiled kernels cannot be kept, because no folder for them can be written",
    "E1001": "PySpark is needed and not installed",
    "E1002": "Spark needs a Java, and there is none that is new enough",
    "E1003": "Spark could not start",
    "E1004": "a Spark setting or master that cannot be had",
    "E1005": "a job of Spark failed",
}
