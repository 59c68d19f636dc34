"""From the user's own library to draws and a density in one unconstrained space.

Each adapter returns ``(Samples, Target)``, so that ``sw.check(*sw.from_numpyro(mcmc))`` works. No
library is imported before an adapter needs it.
"""
