"""A post-filter that is learned, as a gadget: 27 weights of a voxel's neighbourhood, fitted to pairs of noisy and true images.

It learns when the pipeline starts and then filters each image that comes, live too:
    tofstream run python_smooth --set smooth.script=examples/python/learned_filter.py --set 'smooth.arguments={noise: 0.5}'
"""

import itertools

import numpy as np
import tofstream
from tofstream import gadget

OFFSETS = list(itertools.product((-1, 0, 1), repeat=3))


def neighbours(image):
    """[27, z, y, x]: the image moved by each offset; beyond its faces it goes on as at them."""
    padded = np.pad(image, 1, mode="edge")
    return [padded[tuple(slice(1 + d, 1 + d + n) for d, n in zip(offset, image.shape))] for offset in OFFSETS]


def balls(random, side=24):
    """An image of six balls, each of an activity and a size of its own."""
    image, place = np.zeros((side,) * 3), np.indices((side,) * 3)
    for centre, radius, activity in zip(random.uniform(4, side - 4, (6, 3)), random.uniform(2, 6, 6), random.uniform(0, 1, 6)):
        image[((place - centre[:, None, None, None]) ** 2).sum(axis=0) <= radius**2] += activity
    return image


@gadget
class LearnedFilter:
    def __init__(self, noise=0.3, examples=8, seed=1):
        """noise: the standard deviation of the images' noise, in units of a typical activity."""
        random = np.random.default_rng(seed)
        truth = [balls(random) for _ in range(examples)]
        noisy = [neighbours(image + random.normal(0, noise, image.shape)) for image in truth]
        inputs = np.concatenate([np.reshape(moved, (len(OFFSETS), -1)) for moved in noisy], axis=1)
        self.weights = np.linalg.lstsq(inputs.T, np.concatenate([image.ravel() for image in truth]), rcond=None)[0]

    def process(self, image):
        filtered = tofstream.empty_like(image)
        filtered[...] = sum(weight * moved for weight, moved in zip(self.weights, neighbours(image.voxels)))
        return np.maximum(filtered, 0, out=filtered)
# SPDX-License-Identifier: Apache-2.0
