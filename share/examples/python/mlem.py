"""MLEM of a camera's views in five lines: a ball is projected, then found again from its own projections."""

import numpy as np
import tofstream as tof

grid = tof.Grid(size=(32, 32, 32), voxel_mm=(8, 8, 8))  # x, y, z in mm; arrays are [z, y, x]
z, y, x = np.indices(grid.shape)
truth = np.where((x - 20) ** 2 + (y - 12) ** 2 + (z - 16) ** 2 <= 16, 1000, 0).astype(np.float32)

A = tof.spect(grid, angles_deg=6.0 * np.arange(60), radius_mm=150, detector=(32, 32), pixel_mm=(8, 8),
              psf=dict(slope=0.02, sigma0_mm=2))
counts = A(truth)
image, sensitivity = np.ones(A.in_shape, np.float32), A.sensitivity()
for _ in range(20):
    image *= tof.ratio(A.adjoint(tof.ratio(counts, A(image))), sensitivity)

print(f"in the ball {image[16, 12, 20]:.0f} of {truth[16, 12, 20]:.0f}, elsewhere {image[16, 20, 12]:.0f}")
# SPDX-License-Identifier: Apache-2.0
