"""Sends a table of poses live, in frames as `tofstream docs wire` has them, a pose at a time: for `live_motion`.

usage: send_poses.py tcp://127.0.0.1:5556 POSES.csv object_to_scanner|scanner_to_object [SPEED]   (0: all at once)
"""
import csv, secrets, struct, sys, time

MATRIX = [f"m{row}{column}" for row in range(3) for column in range(4)]
QUATERNION = ["qw", "qx", "qy", "qz", "tx_mm", "ty_mm", "tz_mm"]
if len(sys.argv) not in (4, 5) or sys.argv[3] not in ("object_to_scanner", "scanner_to_object"):
    sys.exit(__doc__)
import zmq

TABLE = list(range(256))
for _ in range(8):
    TABLE = [c >> 1 ^ (0x82F63B78 if c & 1 else 0) for c in TABLE]

def crc32c(data, crc=0xFFFFFFFF):
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF

def frame(kind, schema, sequence, payload=b""):
    front = struct.pack("<4sHH", b"TOFW", 1, 80)
    rest = struct.pack("<BBH8Q", kind, schema, 0, STREAM, sequence, 0, 0, 0, 0, time.time_ns(), len(payload)) + payload
    return front + struct.pack("<I", crc32c(front + rest)) + rest

endpoint, speed, STREAM = sys.argv[1], float(sys.argv[4]) if len(sys.argv) > 4 else 1.0, secrets.randbits(64)
with open(sys.argv[2], newline="") as table:
    rows = list(csv.DictReader((line for line in table if not line.startswith("#")), skipinitialspace=True))
columns = QUATERNION if "qw" in rows[0] else MATRIX
socket = zmq.Context().socket(zmq.PUSH)
socket.linger, socket.immediate = 10_000, 1  # ms to send what is left at the end; nothing is sent to nobody
socket.connect(endpoint)
socket.send(frame(1, 8, 0, sys.argv[3].encode()))
began = time.monotonic()  # here scan time 0; a tracker says the scanner's time
for number, row in enumerate(rows, 1):
    pose = [float(row[name]) for name in ["time_s"] + columns]
    if speed > 0:
        time.sleep(max(0.0, began + pose[0] / speed - time.monotonic()))
    socket.send(frame(2, 10 if columns is QUATERNION else 9, number, struct.pack(f"<{len(pose)}d", *pose)))
socket.send(frame(3, 0, len(rows) + 1))
# SPDX-License-Identifier: Apache-2.0
