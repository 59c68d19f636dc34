# The public names and the modules that they come from: read by type checkers, and by __init__.py.
from steinwise.results.invariance import InvarianceResult as InvarianceResult
from steinwise.testing.catalogue import targets as targets
from steinwise.testing.exact_target import ExactTarget as ExactTarget
from steinwise.testing.invariance import assert_invariant as assert_invariant
from steinwise.testing.invariance import check_invariance as check_invariance
from steinwise.testing.posterior import assert_calibrated as assert_calibrated
from steinwise.testing.posterior import assert_posterior_step as assert_posterior_step
from steinwise.testing.posterior import check_calibration as check_calibration
from steinwise.testing.posterior import check_posterior_step as check_posterior_step
from steinwise.testing.prior_data import SimulatedModel as SimulatedModel
