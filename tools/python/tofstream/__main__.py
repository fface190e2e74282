"""`python3 -m tofstream run ...`: the program of the installation that this package is of."""

import os
import sys

from . import library


def main():
    if program := library.program():
        os.execv(program, ["tofstream", *sys.argv[1:]])
    sys.exit("tofstream: no program was found beside the library of this package: install tofstream, the program")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
