"""Sends list mode live, in frames as `tofstream docs wire` has them: a header, then random coincidences, ten frames a second.

usage: send_events.py tcp://127.0.0.1:5555 HEADER.petsird DETECTORS FRAMES   (tofstream simulate --header-only)
"""
import secrets, struct, sys, time

if len(sys.argv) != 5:
    sys.exit(__doc__)
import numpy as np, zmq

TABLE = list(range(256))
for _ in range(8):
    TABLE = [c >> 1 ^ (0x82F63B78 if c & 1 else 0) for c in TABLE]

def crc32c(data, crc=0xFFFFFFFF):  # 10 MB/s; Debian's python3-crc32c has a faster one of the same name
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF

def frame(kind, schema, sequence, first_event=0, events=0, start_ns=0, duration_ns=0, payload=b""):
    front = struct.pack("<4sHH", b"TOFW", 1, 80)
    rest = struct.pack("<BBH8Q", kind, schema, 0, STREAM, sequence, first_event, events, start_ns, duration_ns,
                       time.time_ns(), len(payload)) + payload
    return front + struct.pack("<I", crc32c(front + rest)) + rest

endpoint, header, detectors, frames = sys.argv[1], open(sys.argv[2], "rb").read(), int(sys.argv[3]), int(sys.argv[4])
STREAM, EVENTS, TENTH_S, rng = secrets.randbits(64), 1000, 100_000_000, np.random.default_rng(1)
socket = zmq.Context().socket(zmq.PUSH)
socket.sndhwm, socket.linger, socket.immediate = 64, 10_000, 1  # frames in the queue; ms to send them at the end
socket.connect(endpoint)
socket.send(frame(1, 1, 0, payload=header[:-1]))  # without the 0 that ends the file
for i in range(frames):
    pairs = rng.integers(detectors, size=(2, EVENTS), dtype="<u4")
    tof_mm = rng.normal(0, 50, EVENTS).astype("<f4")
    socket.send(frame(2, 3, i + 1, i * EVENTS, EVENTS, i * TENTH_S, TENTH_S, pairs.tobytes() + tof_mm.tobytes()))
    time.sleep(0.1)
socket.send(frame(3, 0, frames + 1, frames * EVENTS, start_ns=frames * TENTH_S))
# SPDX-License-Identifier: Apache-2.0
