"""List-mode OSEM of a PETSIRD file: a pipeline decodes it, and what follows is Python's.

usage: osem_petsird.py SCAN.petsird SCANNER    such as what `tofstream simulate --scanner demo_ring --no-attenuation` writes
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import tofstream as tof

if len(sys.argv) != 3:
    sys.exit(__doc__)
scan, scanner = Path(sys.argv[1]).resolve(), sys.argv[2]
keep = Path(__file__).resolve().with_name("events_to_numpy.py")

with tempfile.TemporaryDirectory() as folder:
    pipeline = Path(folder, "decode.yaml")
    pipeline.write_text(f"""
gadgets:
  feed:   {{use: file_source, path: {scan}}}
  events: {{use: petsird_decoder, from: feed}}
  kept:
    {{use: python, from: events, gives: nothing, python: {sys.executable}, script: {keep}, arguments: [{folder}/events.npz]}}
""")
    tof.run(pipeline).wait()
    kept = np.load(f"{folder}/events.npz")
    order = np.random.default_rng(1).permutation(len(kept["tof_mm"]))  # so that each subset sees the whole scan
    arrays = {name: kept[name][order] for name in ("detector1", "detector2", "tof_mm")}
events, positions = tof.Events(scanner=scanner, **arrays), tof.detector_positions(scanner)

# Voxels of 8 mm that hold what the scanner sees: a square in its bore, and its length.
across, along = int(1.2 * np.hypot(*positions[:, :2].T).max() / 8), int(np.ptp(positions[:, 2]) / 8)
grid = tof.Grid(size=(across, across, along), voxel_mm=(8, 8, 8))
A = tof.joseph(grid, events, sensitivity={"sampled_pairs": 1000000, "exact_pairs": 0})
image = tof.osem(A.split(8), updates=24, image=np.ones(A.in_shape, np.float32))  # in Bq s/mL

x, y = (o + 8 * np.arange(n) for o, n in zip(grid.origin_mm, grid.size[:2]))
middle, radius = image[along // 4 : -along // 4], np.hypot(x, y[:, None])
explained = np.vdot(A.sensitivity(), image) / len(events)
print(f"{len(events)} events, of which the image explains {explained:.3f}; within 80 mm of the axis "
      f"{middle[:, radius < 80].mean():.0f} Bq s/mL, beyond 180 mm {middle[:, radius > 180].mean():.0f}")
# SPDX-License-Identifier: Apache-2.0
