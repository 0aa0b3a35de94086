"""Reruns that prove something: policy, ladder, budget, and the executor of its steps."""
