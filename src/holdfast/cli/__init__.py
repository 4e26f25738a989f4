"""What a shell user holds: one file a command, and `main.run`, where every error ends."""
