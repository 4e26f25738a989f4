"""A brute-force evaluator, written to be obviously right: the judge that every engine answers to."""
