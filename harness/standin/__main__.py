"""`python -m harness.standin`, and the file that the launchers execute."""

import sys

if not __package__:  # executed by path: run the package that this file belongs to, no other checkout
    sys.path.insert(0, __file__.rsplit("/", 3)[0])

from harness.standin.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
