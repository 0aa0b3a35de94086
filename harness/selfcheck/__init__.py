"""`harness selfcheck`: what the owner of a simulator can find out about it, for comparison with the stand-in.

`facts` boots a small probe and records how the simulator ends, stops and serves semihosting; `ladder` runs
growing networks on the NPU and names the first whose output differs; `record` holds the results as values.
"""
