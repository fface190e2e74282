"""Receives the images of a running reconstruction (tofstream docs images-on-the-wire) until the final one, and keeps it.

usage: receive_images.py tcp://127.0.0.1:5556 IMAGE.npy
"""
import struct, sys
import numpy as np, zmq

socket = zmq.Context().socket(zmq.SUB)
socket.conflate = 1  # a slow receiver keeps the newest image alone
socket.subscribe(b"")
socket.connect(sys.argv[1])
while True:
    message = socket.recv()
    magic, version, header_size = struct.unpack_from("<4sHH", message)
    assert magic == b"TOFI" and version == 2, "no image of this version"
    flags, run, update, iteration, subset, first, end, made_ns = struct.unpack_from("<I2Q2I3Q", message, 12)
    size, voxel_mm, origin_mm = (struct.unpack_from(kind, message, at) for kind, at in (("<3I", 64), ("<3f", 76), ("<3f", 88)))
    image = np.frombuffer(message, "<f4", offset=header_size).reshape(size[::-1])  # z, y, x: x is fastest
    unit, (why_not, filtered) = message[100:116].rstrip(b"\0").decode(), (message[128:header_size] + b"\0\0").decode().split("\0")[:2]
    words = ", ".join([filtered] * bool(filtered) + [unit or "no unit"] + ["not quantitative: " + why_not] * bool(why_not))
    print(f"update {update}: {end - first} events, {words}, {size[0]} x {size[1]} x {size[2]} voxels of {voxel_mm} mm, sum {image.sum():.6g}")
    if flags & 1:
        np.save(sys.argv[2], image)
        break
# SPDX-License-Identifier: Apache-2.0
