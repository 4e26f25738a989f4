"""Explanations: proofs, absences and the checker."""
