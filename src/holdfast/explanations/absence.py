"""Why a fact does not hold: a certificate that can be checked, and where each rule fails."""

from __future__ import annotations

import json
from typing import Any

from holdfast.explanations.matching import Fact
from holdfast.explanations.proof import Complete, Inference, complete_json, fact_text
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Absence:
    """No fact fits a pattern.  `to_json()` is a certificate that `check_proof` checks."""

    goal: Fact
    inferences: tuple[Inference, ...]
    complete: tuple[Complete, ...]

    def to_json(self, **options: Any) -> str:
        """As JSON, whole: what `holdfast.check_proof` checks."""
        return json.dumps(self.as_json(), ensure_ascii=False, **options)

    def as_json(self) -> dict[str, Any]:
        """What `to_json` writes."""
        return {
            "absent": fact_text(self.goal),
            "inferences": [inference.to_json() for inference in self.inferences],
            "complete": complete_json(self.complete),
        }
