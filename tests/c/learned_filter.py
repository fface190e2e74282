"""The example learned_filter.py: run by examples.cpp. Ends with 'all passed', or at the first check that fails."""

import os
import sys
import tempfile

import numpy as np

import tofstream as tof

EXAMPLES = os.path.abspath("share/examples/python")
sys.path.insert(0, EXAMPLES)
from learned_filter import LearnedFilter, balls  # noqa: E402 (where it lies is only known now)

PIPELINE = f"""
scanner: demo_ring
image: {{size: [24, 24, 12], voxel_mm: 16}}
backend: cpu
gadgets:
  photons:   {{use: simulator, phantom: uniform_cylinder, events: 20000, attenuation: false}}
  subsets:   {{use: subset_builder, from: photons, subsets: 2, iterations: 1}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}}}}
  estimate:  {{use: osem_update, from: projected}}
  learned:
    {{use: python, from: estimate, takes: image, gives: image, python: {sys.executable},
      script: {EXAMPLES}/learned_filter.py, arguments: {{examples: 2}}}}
  file:      {{use: nifti_writer, from: learned}}
"""

random = np.random.default_rng(9)
learned = LearnedFilter()
for _ in range(3):  # images that it has not seen
    truth = balls(random)
    noisy = (truth + random.normal(0, 0.3, truth.shape)).astype(np.float32)
    filtered = learned.process(tof.Image(noisy, (4, 4, 4)))
    assert filtered.dtype == np.float32 and filtered.shape == noisy.shape
    before, after = (np.linalg.norm(image - truth) for image in (noisy, filtered))
    assert after < 0.6 * before, (before, after)

with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/learned.yaml", "w") as file:
        file.write(PIPELINE)
    report = tof.run(f"{folder}/learned.yaml", f"{folder}/out")
    assert report["outcome"] == "done", report["outcome"]
    assert any(name.endswith(".nii.gz") for name in os.listdir(f"{folder}/out"))
print("all passed")
# SPDX-License-Identifier: Apache-2.0
