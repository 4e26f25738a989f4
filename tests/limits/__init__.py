"""Recursion through min and max."""
