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


def write_tiles(files, file, across, along_x):
    """Their middle slices beside one another, `along_x` in a row from above, each `across` voxels wide about its
    middle: a NIfTI of one slice, with the first one's voxels and unit."""
    data = gzip.decompress(files[0].read_bytes())
    header = bytearray(data[:int(struct.unpack_from("<f", data, 108)[0])])
    rows = -(-len(files) // along_x)
    width, height = across * along_x, across * rows
    tiled = array("f", bytes(4 * width * height))
    for n, each in enumerate(files):
        (nx, ny, nz), voxels = nifti_floats(each)
        first_x, first_y = n % along_x * across, n // along_x * across
        for y in range(across):
            begin = (nz // 2 * ny + (ny - across) // 2 + y) * nx + (nx - across) // 2
            to = (first_y + y) * width + first_x
            tiled[to:to + across] = voxels[begin:begin + across]
    struct.pack_into("<3h", header, 42, width, height, 1)
    along_z = struct.unpack_from("<4f", header, 312)  # of the sform: of x, y and z, and of the first slice
    struct.pack_into("<f", header, 324, along_z[3] + nz // 2 * along_z[2])
    file.write_bytes(gzip.compress(bytes(header) + tiled.tobytes()))
# SPDX-License-Identifier: Apache-2.0
