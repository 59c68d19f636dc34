"""Adapters: from a user's library to draws and a density on the same unconstrained space.

Each adapter returns ``(Samples, Target)``, so that ``sw.check(*sw.from_numpyro(mcmc))`` works. A
library is imported only when its adapter is called.
"""
