"""Updates that arrive while others are processed: a bounded queue, what fills it, and the driver that empties it."""
