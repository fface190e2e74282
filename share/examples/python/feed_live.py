"""A program as the scanner: it sends a second of events at a time, and looks at the image as it grows.

The events are drawn here: decays in a ball of 30 mm radius at x = 60 mm, seen by demo_ring."""

import numpy as np

import tofstream as tof

random = np.random.default_rng(1)
crystals = tof.detector_positions("demo_ring")  # (detectors, 3) in mm
radius, half_length = np.hypot(crystals[:, 0], crystals[:, 1]).mean(), np.abs(crystals[:, 2]).max()
angles = np.arctan2(crystals[:, 1], crystals[:, 0])
heights = np.unique(crystals[:, 2].round(3))
by_ring = np.array([np.flatnonzero(crystals[:, 2].round(3) == z)[np.argsort(angles[crystals[:, 2].round(3) == z])] for z in heights])
ring_angles = np.sort(angles[by_ring[0]])


def crystal_at(point):
    """The crystal nearest to each point of the cylinder."""
    around = np.searchsorted(0.5 * (ring_angles[1:] + ring_angles[:-1]), np.arctan2(point[:, 1], point[:, 0]))
    along = np.searchsorted(0.5 * (heights[1:] + heights[:-1]), point[:, 2])
    return by_ring[along, around].astype(np.uint32)


def second_of_events(decays=400_000):
    direction = random.normal(size=(decays, 3))
    decay = random.normal(size=(decays, 3))
    decay *= 30 * random.random((decays, 1)) ** (1 / 3) / np.linalg.norm(decay, axis=1, keepdims=True)
    decay[:, 0] += 60
    a = (direction[:, :2] ** 2).sum(1)
    b = (decay[:, :2] * direction[:, :2]).sum(1)
    root = np.sqrt(b**2 - a * ((decay[:, :2] ** 2).sum(1) - radius**2))
    ends = [decay + ((-b + side * root) / a)[:, None] * direction for side in (-1, 1)]
    seen = np.all([np.abs(end[:, 2]) < half_length for end in ends], axis=0)
    one, other = (crystal_at(end[seen]) for end in ends)
    return tof.Events(scanner="demo_ring", detector1=one, detector2=other)


settings = {"backend": "cpu", "projected.sensitivity": {"exact_pairs": 0, "sampled_pairs": 1000000}}
with tof.run("live_osem", feed="feed", output="estimate", set=settings) as run:
    for second in range(5):
        run.send(second_of_events(), start_s=second, duration_s=1)
        if image := run.newest(wait_s=60):
            z, y, x = np.unravel_index(image.voxels.argmax(), image.voxels.shape)
            place = [o + n * edge for o, n, edge in zip(image.origin_mm, (x, y, z), image.voxel_mm)]
            print(f"update {image.update}, {image.events} events: hottest at ({place[0]:.0f}, {place[1]:.0f}, {place[2]:.0f}) mm")
# SPDX-License-Identifier: Apache-2.0
