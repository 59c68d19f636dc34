"""The default method: complete conditionals along lines through the draws."""

from steinwise.methods.transported.method import Transported

__all__ = ["Transported"]
