"""Streams of updates: a bounded queue, the sources that fill it, and the driver that empties it."""
