"""Plans over tables: bindings flow through the steps of a plan a batch at a time."""
