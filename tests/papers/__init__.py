"""The worked examples of the four papers, named by paper and number."""
