"""A demonstration: planted faults below the public interfaces, and the verdicts that they get."""
