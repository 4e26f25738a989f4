"""Several updates in one pass: the memory backend's windows."""
