"""OSEM of a sinogram with time of flight, projected along its lines by Joseph: 32 directions in three planes.

The counts are drawn here: Poisson numbers of a ball of 1000 in a cylinder of 100, over a uniform background."""

import numpy as np

import tofstream as tof

random = np.random.default_rng(1)
grid = tof.Grid(size=(40, 40, 3), voxel_mm=(8, 8, 8))
z, y, x = np.indices(grid.shape)
truth = np.where((x - 19.5) ** 2 + (y - 19.5) ** 2 < 15**2, 100, 0)
truth = truth + np.where((x - 26) ** 2 + (y - 18) ** 2 < 16, 900, 0)

# Lines from edge to edge of a circle of 350 mm radius: [angle, plane, distance from the axis], ends of (x, y, z) in mm.
angle, plane, distance = np.meshgrid(np.pi / 32 * np.arange(32), [-8, 0, 8], 8.0 * np.arange(-19.5, 20), indexing="ij")
half = np.sqrt(350**2 - distance**2)
start, end = (np.stack([distance * -np.sin(angle) + side * half * np.cos(angle),
                        distance * np.cos(angle) + side * half * np.sin(angle), plane], axis=-1).astype(np.float32)
              for side in (-1, 1))
S = tof.joseph(grid, tof.Lors(start, end, tof_bins=(9, 40.0, 25.0)))  # 9 bins of 40 mm, a resolution of 25 mm (sigma)

expected = 1e-3 * S(truth.astype(np.float32))  # 1e-3 counts of a mm of 1
background = np.full(S.out_shape, 0.1 * expected.mean(), np.float32)
counts = random.poisson(expected + background).astype(np.float32)
image = tof.osem(S.split(8), counts, additive=background, updates=40, image=np.ones(grid.shape, np.float32)) / 1e-3
print(f"sinogram of {S.out_shape}: in the ball {image[:, 17:20, 25:28].mean():.0f} of 1000, "
      f"in the cylinder {image[:, 14:24, 10:16].mean():.0f} of 100, outside {image[:, :6].mean():.1f}")
# SPDX-License-Identifier: Apache-2.0
