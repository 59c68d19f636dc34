"""The draws: their shape and names, where they are kept, and how they depend on each other."""
