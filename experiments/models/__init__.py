"""The posteriors that the panels on samplers look at."""
