"""Pipelines and sinograms from Python: run by examples.cpp. Ends with 'all passed', or at the first check that fails."""

import gc
import os
import signal
import tempfile
import threading
import time

import numpy as np
from checks import refused

import tofstream as tof

random = np.random.default_rng(1)
FED = """
image: {size: [20, 20, 8], voxel_mm: 16}
backend: cpu
gadgets:
  feed:      {use: zmq_source, endpoint: "tcp://127.0.0.1:5999"}
  subsets:   {use: live_subsets, from: feed.events, seconds: 1, least_events: 100, iterations: 1, final: none}
  projected: {use: joseph_projector, from: {events: subsets, image: estimate}, sensitivity: {cache: false}}
  estimate:  {use: osem_update, from: projected}
  file:      {use: nifti_writer, from: estimate}
"""


def pairs(count=2000):
    return tof.Events(scanner="demo_ring", detector1=random.integers(0, 3000, count, np.uint32),
                      detector2=random.integers(3000, 6144, count, np.uint32))


def fed(folder):
    path = os.path.join(folder, "fed.yaml")
    with open(path, "w") as file:
        file.write(FED)
    return path


def feeding(folder):
    with tof.run(fed(folder), feed="feed") as run:
        kept = []
        for second in range(4):
            run.send(pairs(), start_s=second, duration_s=1)
            kept.append(run.newest(30))
        assert [image.events for image in kept] == [2000, 4000, 6000, 8000], [image.events for image in kept]
        assert kept[-1].voxels.shape == (8, 20, 20) and kept[-1].voxel_mm == (16, 16, 16)
        assert not kept[-1].voxels.flags.writeable and kept[0].voxels.sum() > 0
        assert "Bq" in kept[-1].label
        where = run.folder
        assert run.report["outcome"] != "done"
    report = run.wait()
    assert report["books"]["received"] == 8000 and report["outcome"] == "done"
    refused(ValueError, "the feed was closed before", run.send, pairs(), 4, 1)
    voxels = kept[0].voxels
    del run, report, kept
    gc.collect()
    assert not os.path.exists(where)
    assert voxels.sum() > 0  # an image outlives its run


def from_another_thread(folder):
    seen = []
    with tof.run(fed(folder), feed="feed") as run:
        looking = threading.Thread(target=lambda: seen.extend(image.update for image in run.images()))
        looking.start()
        for second in range(3):
            run.send(pairs(), start_s=second, duration_s=1)
            time.sleep(0.05)
        run.close()
        looking.join(60)
    assert seen and seen == sorted(set(seen)), seen


def interrupted(folder):
    run = tof.run(fed(folder), feed="feed")
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        run.newest()
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("Ctrl-C was not heard")
    run.stop()
    assert run.wait()["outcome"] == "stopped"
    begun = time.monotonic()
    try:
        with tof.run(fed(folder), feed="feed"):
            raise KeyError("mine")
    except KeyError:
        assert time.monotonic() - begun < 10


def views(folder):
    path = os.path.join(folder, "views.yaml")
    with open(path, "w") as file:
        file.write("image: {size: [16, 16, 16], voxel_mm: 10}\nbackend: cpu\ngadgets:\n"
                   "  feed:      {use: zmq_source}\n"
                   "  subsets:   {use: live_views, from: feed.views, subsets: 4, least_views: 4, iterations: 1, final: none}\n"
                   "  projected: {use: rotation_projector, from: {views: subsets, image: estimate}}\n"
                   "  estimate:  {use: osem_update, from: projected}\n  file: {use: nifti_writer, from: estimate}\n")
    plan = tof.Plan(22.5 * np.arange(16), size=(16, 16), pixel_mm=(10, 10), radius_mm=200, duration_s=2)
    counts = np.full((16, 16, 16), 3, np.float32)
    with tof.run(path, os.path.join(folder, "views"), feed="feed") as run:
        for first in range(0, 16, 4):
            run.send(tof.Views(plan, np.arange(first, first + 4), counts[first : first + 4]))
        refused(TypeError, "views.counts has the shape", run.send, tof.Views(plan, [0], counts))
        refused(ValueError, "[0] is nan", run.send, tof.Views(plan, [0], np.full((1, 16, 16), np.nan, np.float32)))
        refused(ValueError, "[0] is -1", run.send, tof.Views(plan, [0], np.full((1, 16, 16), -1, np.float32)))
        refused(TypeError, "data is a ndarray", run.send, counts)
    assert run.report["books"]["received"] == counts.sum()
    assert os.path.exists(os.path.join(folder, "views", "image.nii.gz"))


def files(folder):
    pipeline = f"{folder}/small.yaml"
    with open(pipeline, "w") as file:
        file.write("gadgets:\n  photons: {use: simulator, scanner: demo_ring, phantom: uniform_cylinder, events: 1000}\n"
                   "  end: {use: null_sink, from: photons}\n")
    report = tof.run(pipeline, f"{folder}/out", set={"photons.events": 500}).wait()
    assert report["books"]["received"] == 500 and report["outcome"] == "done", report["outcome"]
    refused(ValueError, "did you mean", tof.run, pipeline, f"{folder}/other", set={"photons.event": 5})
    refused(RuntimeError, "holds the run", tof.run(pipeline, f"{folder}/out").wait)
    refused(OSError, "no_such", tof.run, "no_such", f"{folder}/none")
    refused(ValueError, "feed is 'photons'", tof.run, pipeline, feed="photons")
    refused(ValueError, "the run has no feed", tof.run(pipeline).send, pairs(), 0, 1)


def sinograms(_folder):
    grid = tof.Grid((12, 10, 8), (8, 9, 10))
    angle, offset = np.meshgrid(np.linspace(0, np.pi, 12, endpoint=False), np.linspace(-40, 40, 9), indexing="ij")
    along = np.stack([np.cos(angle), np.sin(angle), 0 * angle], -1)
    across = np.stack([-np.sin(angle), np.cos(angle), 0 * angle], -1) * offset[..., None]
    start, end = ((across + side * 200 * along).astype(np.float32) for side in (-1, 1))
    flat = tof.joseph(grid, tof.Lors(start, end))
    A = tof.joseph(grid, tof.Lors(start, end, tof_bins=(29, 20.0, 12.0)))
    assert flat.out_shape == (12, 9) and A.out_shape == (12, 9, 29)
    x, y = random.random(grid.shape, np.float32), random.random(A.out_shape, np.float32)
    assert abs(float(np.vdot(A(x), y)) / float(np.vdot(x, A.T(y))) - 1) < 1e-5
    assert np.allclose(A(x).sum(-1), flat(x), rtol=2e-3)  # 29 bins of 20 mm hold every line
    ramp = np.zeros(grid.shape, np.float32)
    ramp[:, :, -1] = 1  # at +x: late bins of lines along +x
    bins = A(ramp)[0, 4]
    assert bins.argmax() > 14, bins.argmax()
    parts = A.split(4)
    assert [part.indices.tolist() for part in parts] == [[k, k + 4, k + 8] for k in range(4)]
    assert all(np.array_equal(part(x), A(x)[part.indices]) for part in parts)
    counts = A(x)
    image = tof.osem(parts, counts, updates=24, image=np.ones(grid.shape, np.float32))
    assert abs(float((A(image) - counts).sum()) / float(counts.sum())) < 0.01
    refused(TypeError, "points have the shapes", tof.Lors, start, end[:3])


def sensitivity(_folder):
    grid = tof.Grid((20, 20, 8), (16, 16, 16))
    events = pairs(500)
    settings = dict(sensitivity=dict(exact_pairs=0, sampled_pairs=100000, cache=False))
    s = tof.joseph(grid, events, **settings).sensitivity()
    mu = np.full(grid.shape, 0.096, np.float32)
    less = tof.joseph(grid, events, mu=mu, **settings).sensitivity()
    middle = (4, 10, 10)
    many = tof.joseph(grid, pairs(20000), **settings)
    x = tof.osem(many.split(4), updates=4, image=np.ones(grid.shape, np.float32))
    seen = (many(np.ones(grid.shape, np.float32)) > 0).sum()  # the others miss the image
    assert abs(float(np.vdot(many.sensitivity(), x)) / seen - 1) < 0.02  # an update explains a quarter of them four times
    assert 0 < less[middle] < 0.3 * s[middle], (less[middle], s[middle])
    refused(ValueError, "events.scanner is null", tof.joseph(grid, tof.Events.from_lors(
        np.full((2, 3), -100, np.float32), np.full((2, 3), 100, np.float32))).sensitivity)


for check in (feeding, from_another_thread, interrupted, views, files, sinograms, sensitivity):
    with tempfile.TemporaryDirectory() as folder:
        check(folder)
print("all passed")
# SPDX-License-Identifier: Apache-2.0
