"""CIL's primal-dual hybrid gradient (PDHG) on a camera's views: non-negative images of largest Poisson likelihood.

It needs the Core Imaging Library (CIL), https://github.com/TomographicImaging/CIL."""

import sys

import numpy as np
import tofstream as tof

try:
    from cil.framework import AcquisitionGeometry, ImageGeometry
    from cil.optimisation.algorithms import PDHG
    from cil.optimisation.functions import IndicatorBox, KullbackLeibler
except ModuleNotFoundError as missing:
    sys.exit(f"pdhg_cil.py needs CIL, the Core Imaging Library: {missing}")

side, views = 24, 60
grid = tof.Grid(size=(side, side, side), voxel_mm=(8, 8, 8))
z, y, x = np.indices(grid.shape)
truth = np.where((x - 15) ** 2 + (y - 9) ** 2 + (z - 12) ** 2 <= 9, 100, 0).astype(np.float32)
angles_deg = 360 / views * np.arange(views)
A = tof.spect(grid, angles_deg=angles_deg, radius_mm=130, detector=(side, side), pixel_mm=(8, 8),
              psf=dict(slope=0.02, sigma0_mm=2))

# CIL's containers: images are (vertical, horizontal_y, horizontal_x), views (angle, vertical, horizontal).
images = ImageGeometry(voxel_num_x=side, voxel_num_y=side, voxel_num_z=side, voxel_size_x=8, voxel_size_y=8, voxel_size_z=8)
camera = AcquisitionGeometry.create_Parallel3D().set_angles(angles_deg).set_panel((side, side), pixel_size=(8, 8))
K = A.as_cil(images, camera)
counts, background = camera.allocate(0), camera.allocate(0.1)
counts.fill(A(truth))

pdhg = PDHG(f=KullbackLeibler(b=counts, eta=background), g=IndicatorBox(lower=0), operator=K,
            sigma=0.1 / K.norm(), tau=10 / K.norm(),  # the image is some 100 times the dual variable
            update_objective_interval=50)
pdhg.run(200)
image = pdhg.solution.as_array()
print(f"in the ball {image[12, 9, 15]:.0f} of 100, elsewhere {image[12, 15, 9]:.1f}, smallest {image.min():.0f}")
# SPDX-License-Identifier: Apache-2.0
