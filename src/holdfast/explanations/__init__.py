"""Why a fact holds or not: proofs, certificates of absence, and a checker that trusts neither of them."""
