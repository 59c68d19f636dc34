"""Expectations under the target, estimated from draws of another distribution and their scores."""
