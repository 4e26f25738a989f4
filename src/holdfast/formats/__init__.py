"""Reading and writing facts: separated values, JSON lines, Parquet, RDF, and Python data."""
