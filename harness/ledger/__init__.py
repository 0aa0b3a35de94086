"""The history of every test: what is stored, what it proves, and what may fail for a while.

`session` is the face for the plugin; `signature`, `statistics`, `trends` and `history` are pure.
"""
