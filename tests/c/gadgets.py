"""The examples that are gadgets: run by examples.cpp. Ends with 'all passed', or at the first check that fails."""

import os
import sys
import tempfile

import numpy as np

import tofstream as tof

EXAMPLES = os.path.abspath("share/examples/python")
sys.path.insert(0, EXAMPLES)
from learned_filter import LearnedFilter, balls  # noqa: E402 (where it lies is only known now)

GADGETS = f"""
scanner: demo_ring
image: {{size: [24, 24, 12], voxel_mm: 16}}
backend: cpu
gadgets:
  photons:   {{use: simulator, phantom: uniform_cylinder, events: 20000, batch_events: 5000, attenuation: false}}
  subsets:   {{use: subset_builder, from: photons, subsets: 2, iterations: 1}}
  projected: {{use: joseph_projector, from: {{events: subsets, image: estimate}}}}
  estimate:  {{use: osem_update, from: projected}}
  learned:
    {{use: python, from: estimate, takes: image, gives: image, python: {sys.executable},
      script: {EXAMPLES}/learned_filter.py, arguments: {{examples: 2}}}}
  file:      {{use: nifti_writer, from: learned}}
  kept:
    {{use: python, from: photons, gives: nothing, python: {sys.executable},
      script: {EXAMPLES}/events_to_numpy.py, arguments: {{file: FOLDER/events.npz}}}}
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
    with open(f"{folder}/gadgets.yaml", "w") as file:
        file.write(GADGETS.replace("FOLDER", folder))
    report = tof.run(f"{folder}/gadgets.yaml", f"{folder}/out").wait()
    assert report["outcome"] == "done", report["outcome"]
    assert any(name.endswith(".nii.gz") for name in os.listdir(f"{folder}/out"))
    kept = np.load(f"{folder}/events.npz")
    assert len(kept["detector1"]) == len(kept["tof_mm"]) == 20000 and kept["detector_positions"].shape[1] == 3
    events = tof.Events(scanner="demo_ring", detector1=kept["detector1"], detector2=kept["detector2"], tof_mm=kept["tof_mm"])
    A = tof.joseph(tof.Grid((24, 24, 12), (16, 16, 16)), events)
    image = np.ones(A.in_shape, np.float32)
    # A LOR between detectors is the one between their positions.
    ends = [kept["detector_positions"][kept[name]] for name in ("detector1", "detector2")]
    more = dict(tof_mm=kept["tof_mm"], tof_sigma_mm=float(kept["tof_sigma_mm"]), tof_bin_mm=float(kept["tof_bin_mm"]))
    assert np.allclose(A(image), tof.joseph(tof.Grid((24, 24, 12), (16, 16, 16)), tof.Events.from_lors(*ends, **more))(image),
                       rtol=1e-4, atol=1e-3)
print("all passed")
# SPDX-License-Identifier: Apache-2.0
