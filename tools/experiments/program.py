"""What experiments ask of the program they run, of the machine, and of the images that the program writes."""

import gzip
import math
import random
import re
import socket
import struct
import subprocess
from array import array


def commit_of(program):
    """The commit that `program`, a tofstream, is of; `-dirty` where its tree was changed, None for no checkout."""
    version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    commit = re.search(r"commit (\S+)", version)
    return commit and commit[1]


def free_port():
    """Below those that the system gives to who connects."""
    while True:
        with socket.socket() as taken:
            port = random.randint(20000, 32000)
            try:
                taken.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def nifti_floats(file):
    """Size and voxels, x fastest, of a NIfTI of floats as the program writes it."""
    data = gzip.decompress(file.read_bytes())
    size, offset = struct.unpack_from("<3h", data, 42), int(struct.unpack_from("<f", data, 108)[0])
    return size, array("f", data[offset:offset + 4 * math.prod(size)])
# SPDX-License-Identifier: Apache-2.0
