"""What the methods `transported` and `scores` share: a test of every complete conditional."""
