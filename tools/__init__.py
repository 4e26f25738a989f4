"""What builds the package: the kernels ahead of time, the grammar's tables, the list of what an install holds."""
