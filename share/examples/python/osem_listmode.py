"""List-mode OSEM with time of flight: events of a ball in a small ring scanner are drawn, and the ball is found again."""

import numpy as np
import tofstream as tof

grid = tof.Grid(size=(24, 24, 8), voxel_mm=(8, 8, 8))
z, y, x = np.indices(grid.shape)
truth = np.where((x - 15) ** 2 + (y - 9) ** 2 + (z - 4) ** 2 <= 9, 1000, 0).astype(np.float32)

# Four rings of 96 detectors, every line between two of them, and time bins of 40 mm.
angle, rings_mm = 2 * np.pi * np.arange(96) / 96, np.array([-24, -8, 8, 24])
ring = np.stack([150 * np.cos(angle), 150 * np.sin(angle)], axis=1)
detectors = np.concatenate([np.column_stack([ring, np.full(96, at)]) for at in rings_mm]).astype(np.float32)
first, second = np.triu_indices(len(detectors), k=1)
bins_mm = 40 * np.arange(-4, 5, dtype=np.float32)
tof_of_scanner = dict(tof_sigma_mm=25.0, tof_bin_mm=40.0)


def lines(which, **more):
    return tof.Events.from_lors(detectors[first[which]], detectors[second[which]], **more)


# What each line counts in each time bin: Poisson numbers about the projection, as events in random order.
random, everything, drawn = np.random.default_rng(1), np.arange(len(first)), []
for t in bins_mm:
    expected = tof.joseph(grid, lines(everything, tof_mm=np.full(len(first), t), **tof_of_scanner))(truth)
    which = np.repeat(everything, random.poisson(1e-4 * expected))
    drawn.append(np.column_stack([which, np.full(len(which), t)]))
order = random.permutation(np.concatenate(drawn))
events = lines(order[:, 0].astype(int), tof_mm=order[:, 1].astype(np.float32), **tof_of_scanner)

# A subset is every eighth of the list, whose sensitivity is an eighth of that of all lines.
every_line = tof.joseph(grid, lines(everything))
sensitivity = 1e-4 * every_line.adjoint(np.ones(every_line.out_shape, np.float32)) / 8
image, subsets = np.ones(grid.shape, np.float32), tof.joseph(grid, events).split(8)
for update in range(40):
    image *= tof.ratio(subsets[update % 8].em_step(image), sensitivity)

inside = truth > 0
print(f"{len(events)} events; mean in the ball {image[inside].mean():.0f} of 1000, outside {image[~inside].mean():.1f}")
# SPDX-License-Identifier: Apache-2.0
