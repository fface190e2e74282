"""What experiments ask of the program they run."""

import re
import subprocess


def commit_of(program):
    """The commit that `program`, a tofstream, is of; `-dirty` where its tree was changed, None for no checkout."""
    version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    commit = re.search(r"commit (\S+)", version)
    return commit and commit[1]
# SPDX-License-Identifier: Apache-2.0
