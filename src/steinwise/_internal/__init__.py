"""What every room uses and no user sees: memory, validation, random numbers, threads."""
