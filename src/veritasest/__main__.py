"""`python -m veritasest` is the command `veritasest`."""

import sys

from veritasest.cli import main

if __name__ == "__main__":
    sys.exit(main())
