"""The posteriors of the panels on samplers, and what is computed from chains of them."""
