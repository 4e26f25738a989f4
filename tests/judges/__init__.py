"""Independent judges: random programs, and the same program said to clingo and to Nemo."""
