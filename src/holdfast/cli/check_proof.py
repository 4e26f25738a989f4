"""`holdfast check-proof`: check that a proof shows what it claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from holdfast.cli import files, options, terminal
from holdfast.cli.command_line import Positional

EXAMPLE = "holdfast check-proof examples/reachability/reachability.dl proof.json -F examples/reachability/facts"


def check_proof(
    program: options.ProgramFile,
    proof: Annotated[Path, Positional(metavar="PROOF", help="The proof, as why or why-not --format json writes it.")],
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
) -> None:
    """Check a proof or a certificate of absence, without running the program.

    The checker reads the rules and the facts and trusts nothing else.  The exit code is 1 if it rejects the proof.
    """
    from holdfast.knowledge.proof_checks import check_proof as check
    from holdfast.language import parse

    for path in facts:
        files.existing(path)
    rules = parse(files.read_text(program), files.shown_name(program), options.preprocessing(macro, include))
    text = files.read_text(proof)
    shown = check(text, rules, facts)
    is_absent = "absent" in json.loads(text)
    terminal.line(f"the certificate is right: no fact {shown} holds" if is_absent else f"the proof is right: {shown}")
