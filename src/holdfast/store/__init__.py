"""A folder that keeps a knowledge base: its explicit facts and rules, and a log of the updates since."""
