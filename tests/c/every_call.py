"""One of each call, as a user types it, with small sizes: run by examples.cpp. Ends with 'all passed', or at the first
that fails. Other tests look at what they give."""

import importlib.util
import os
import subprocess
import tempfile

import cil_stand_in
import numpy as np

import tofstream as tof

random = np.random.default_rng(4)
mu = np.full((16, 16, 16), 0.05, np.float32)


def operators():
    grid = tof.Grid(size=(16, 16, 16), voxel_mm=(9.6, 9.6, 9.6))
    A = tof.spect(grid, angles_deg=12.0 * np.arange(30), radius_mm=250, detector=(16, 16), pixel_mm=(9.6, 9.6),
                  psf=dict(slope=0.0163, sigma0_mm=1.466), mu=mu)
    assert A.in_shape == (16, 16, 16) and A.out_shape == (30, 16, 16)
    counts = np.round(A(1000 * random.random(A.in_shape, np.float32)))
    b = np.ones(A.out_shape, np.float32)
    x = np.ones(A.in_shape, np.float32)
    s = A.adjoint(np.ones(A.out_shape, np.float32))
    for _ in range(20):
        x *= tof.ratio(A.adjoint(tof.ratio(counts, A(x))), s)
    y = np.empty(A.out_shape, np.float32)
    A @ x, A.forward(x), A.direct(x, out=y), A.backward(y), A.H(y), A.T @ y, A.norm()
    A.gradient(x, counts, additive=b)
    x = tof.osem(A.split(8), counts, additive=b, updates=60, image=x)
    assert np.isfinite(x).all() and abs((A(x) + b).sum() / counts.sum() - 1) < 0.02
    for module, adapted in ("scipy", A.as_scipy), ("torch", A.as_torch):
        if importlib.util.find_spec(module) is None:
            print("without", module)
        else:
            adapted()
    if importlib.util.find_spec("cil") is None:
        cil_stand_in.install()
    from cil.framework import AcquisitionGeometry, ImageGeometry

    image_geometry = ImageGeometry(voxel_num_x=16, voxel_num_y=16, voxel_num_z=16)
    acquisition_geometry = AcquisitionGeometry.create_Parallel3D().set_angles(12 * np.arange(30)).set_panel((16, 16))
    A.as_cil(image_geometry, acquisition_geometry)



def lists_and_sinograms():
    grid = tof.Grid(size=(16, 16, 8), voxel_mm=(16, 16, 16))
    count = 3000
    d1, d2 = (random.integers(first, first + 3000, count, np.uint32) for first in (0, 3000))
    t = random.uniform(-100, 100, count).astype(np.float32)
    ev = tof.Events(scanner="gemini_tf", detector1=d1, detector2=d2, tof_mm=t)
    x, c = np.ones(grid.shape, np.float32), np.ones(count, np.float32)
    quick = dict(sensitivity=dict(exact_pairs=0, sampled_pairs=20000, cache=False))
    J, T = tof.joseph(grid, ev, **quick), tof.tor(grid, ev, tube_width_voxels=3)
    J.em_step(x, additive=c), J.sensitivity()  # of a list of a scanner: lines between points alone have no sensitivity
    T.em_step(x, additive=c)
    angle = random.uniform(0, np.pi, count)
    xstart = np.stack([200 * np.cos(angle), 200 * np.sin(angle), 0 * angle], 1).astype(np.float32)
    xend = (-xstart + np.float32([0, 0, 20])).astype(np.float32)
    ev = tof.Events.from_lors(xstart, xend, tof_mm=t, tof_sigma_mm=40.5)
    J, T = tof.joseph(grid, ev), tof.tor(grid, ev, tube_width_voxels=3)
    J.em_step(x, additive=c)
    assert J(x).shape == T(x).shape == (count,)
    S = tof.joseph(grid, tof.Lors(xstart, xend, tof_bins=(29, 37.5, 40.5)))
    assert S.out_shape == xstart.shape[:-1] + (29,)
    tof.direct(grid, tof_fwhm_ps=400, lor_fwhm_mm=20)
    tof.blobs(tof.Grid((8, 8, 6), (16, 16, 16), blob_radius_mm=30, blob_alpha=10.4), ev)


def runs():
    subprocess.run([tof.library.program(), "run", "spect_simulate", "--out", ".", "--quiet", "--set",
                    "photons.events=20000"], check=True, capture_output=True)
    images = []
    for image in tof.run("spect_osem", input="scan.hs", set={"subsets.iterations": 5, "image.voxel_mm": 16}).images():
        images.append(image)  # draws itself in a notebook
    assert images[-1].is_last and images[-1].iteration == 5
    d1, d2 = (random.integers(first, first + 3000, 30000, np.uint32) for first in (0, 3000))
    ev = tof.Events(scanner="demo_ring", detector1=d1, detector2=d2, tof_mm=np.zeros(30000, np.float32))
    quick = {"projected.sensitivity": dict(exact_pairs=0, sampled_pairs=20000, cache=False),
             "subsets.least_events": 1000, "subsets.final": "none", "image.voxel_mm": 16}
    with tof.run("live_osem", feed="feed", set=quick) as run:
        run.send(ev, start_s=0.0, duration_s=1.0)
        assert run.newest().voxels.max() > 0
        assert run.report["books"]["received"] == 30000


operators()
lists_and_sinograms()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    runs()
    os.chdir("/")
print("all passed")
# SPDX-License-Identifier: Apache-2.0
