"""Measurements: holdfast beside other systems on the same rules and the same facts."""
