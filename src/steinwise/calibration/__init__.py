"""From batch sums to p-values: batches, signs, step-down, jackknife errors."""
