"""The memory backend, partitioned: facts are spread over shards, and bindings and heads move between them."""
