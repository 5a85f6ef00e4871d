"""`make bench`: what the server costs, measured beside a floor in the same run."""
