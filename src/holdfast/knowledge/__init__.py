"""A knowledge base: opening, querying and updating it."""
