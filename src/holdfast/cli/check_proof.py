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
    proof: Annotated[
        Path,
        Positional(
            metavar="PROOF", help="The proof, as why or why-not --format json writes it, or lines of why --all-facts."
        ),
    ],
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
) -> None:
    """Check a proof or a certificate of absence, without running the program.

    The checker reads the rules and the facts and trusts nothing else.  The exit code is 1 if it rejects the proof.
    """
    from holdfast.explanations.checker import checked
    from holdfast.knowledge.proof_checks import explicit_facts
    from holdfast.language import parse

    for path in facts:
        files.existing(path)
    rules = parse(files.read_text(program), files.shown_name(program), options.preprocessing(macro, include))
    given = explicit_facts(rules, facts)
    for text in _proofs(files.read_text(proof)):
        shown = checked(text, rules, given)
        is_absent = "absent" in json.loads(text)
        terminal.line(
            f"the certificate is right: no fact {shown} holds" if is_absent else f"the proof is right: {shown}"
        )


def _proofs(text: str) -> list[str]:
    """One proof, or one on each line, as `why --all-facts` writes them."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines if len(lines) > 1 and all(line.startswith("{") and line.endswith("}") for line in lines) else [text]
