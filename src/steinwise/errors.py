"""What can be wrong with a call: each message says what came, what was expected and the fix."""


class InputError(ValueError):
    """The draws, names or options cannot be used as they are."""


class TargetError(ValueError):
    """The density or score function failed, or returned something that is not a score."""


class TooFewDraws(ValueError):
    """The draws are too few, or too strongly autocorrelated, for a calibrated verdict."""


class SteinwiseWarning(UserWarning):
    """The result stands, but something about the draws or the target should be known."""
