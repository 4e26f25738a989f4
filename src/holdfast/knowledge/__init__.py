"""A knowledge base: how it is opened, asked, and kept up to date."""
