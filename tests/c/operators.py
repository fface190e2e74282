"""Operators from Python: run by examples.cpp. Ends with 'all passed', or at the first check that fails."""

import os
import threading

import numpy as np
from checks import refused

import tofstream as tof

grid = tof.Grid((12, 10, 8), (8, 9, 10))
random = np.random.default_rng(1)


def turn(**more):
    return tof.spect(grid, angles_deg=30 * np.arange(12), radius_mm=120, detector=(14, 9), pixel_mm=(7, 8),
                     psf=dict(slope=0.02, sigma0_mm=2), **more)


def lines(count=400, tof_ns=True):
    angles = random.uniform(0, 2 * np.pi, (2, count))
    ends = [np.stack([200 * np.cos(a), 200 * np.sin(a), random.uniform(-30, 30, count)], 1).astype(np.float32) for a in angles]
    time = dict(tof_mm=random.uniform(-60, 60, count).astype(np.float32), tof_sigma_mm=30.0, tof_bin_mm=20.0)
    return tof.Events.from_lors(*ends, **(time if tof_ns else {}))


def strip_events(count=200):
    """On the upper and the lower strip of jpet_strip; their resolution is the projector's."""
    z = random.uniform(-100, 100, (2, count)).astype(np.float32)
    zero = np.zeros(count, np.float32)
    return tof.Events(scanner="jpet_strip", x1=zero, y1=zero + 130, z1=z[0], x2=zero, y2=zero - 130, z2=z[1],
                      tof_mm=random.uniform(-50, 50, count).astype(np.float32), tof_sigma_mm=20.0)


def dot(a, b):
    return float(np.vdot(a.astype(np.float64), b.astype(np.float64)))


def adjointness():
    events = lines()
    mu = np.full(grid.shape, 0.1, np.float32)
    blobs = tof.Grid((12, 10, 8), (8, 8, 8), blob_radius_mm=12, blob_alpha=10.4)
    for A in (turn(), turn(mu=mu), turn(rotation="conserving"), tof.joseph(grid, events), tof.joseph(grid, lines(tof_ns=False)),
              tof.tor(grid, events, tube_width_voxels=3, fwhm_mm=8), tof.joseph(grid, events).plan(), tof.blobs(blobs, events),
              tof.strips(tof.Grid((1, 20, 24), (10, 10, 10)), strip_events())):
        x = random.random(A.in_shape, np.float32)
        y = random.random(A.out_shape, np.float32)
        assert abs(dot(A @ x, y) / dot(x, A.T @ y) - 1) < 1e-5, A
        out = np.empty(A.out_shape, np.float32)
        assert A.forward(x, out=out) is out and np.array_equal(out, A.direct(x))
        assert np.array_equal(A.H(y), A.backward(y)) and A.H.H is A
    assert tof.blobs(blobs, events).in_shape == blobs.shape == (16, 10, 12)
    x = random.random(grid.shape, np.float32)  # without their time of flight, events are others
    assert np.array_equal(tof.joseph(grid, events, tof=False)(x), tof.joseph(grid, events.replace(tof_mm=None))(x))
    assert not np.allclose(tof.joseph(grid, events, tof=False)(x), tof.joseph(grid, events)(x))


def histo_images():
    wide = tof.Grid((20, 20, 8), (8, 8, 8))
    events = lines(2000)
    for D in (tof.direct(wide, views=(6, 2), acceptance_deg=30, tof_fwhm_ps=300, lor_fwhm_mm=10),
              tof.direct(wide, views=(5, 1), acceptance_deg=30, tof_fwhm_ps=300, lor_fwhm_mm=[(0, 10), (80, 14)]),
              tof.direct(wide, views=(6, 2), acceptance_deg=30, tof_fwhm_ps=300, lor_fwhm_mm=10, lattice="image",
                         operator="one_stage"),
              tof.direct(wide, views=(6, 2), acceptance_deg=30, tof_fwhm_ps=300, lor_fwhm_mm=10, lattice="image",
                         operator="fft")):
        assert D.out_shape == (len(D.indices), 8, 20, 20) and D.in_shape == wide.shape
        x, y = random.random(D.in_shape, np.float32), random.random(D.out_shape, np.float32)
        assert abs(dot(D(x), y) / dot(x, D.adjoint(y)) - 1) < 1e-5
        for nearest in (False, True):
            h = D.deposit(events, nearest=nearest)
            assert abs(h.sum(dtype=np.float64) / D.deposited["deposited"] - 1) < 1e-6
            assert sum(D.deposited.values()) == len(events) and D.deposited["outside"] > 0
        out = np.full(D.out_shape, 7, np.float32)
        assert D.deposit(events, out, nearest=True) is out and np.array_equal(out, h)
        image = tof.osem([D], h, updates=2, image=np.ones(D.in_shape, np.float32))
        assert abs(dot(D.sensitivity(), image) / h.sum(dtype=np.float64) - 1) < 1e-4
    refused(ValueError, "time of flight", D.deposit, lines(10, tof_ns=False))
    refused(ValueError, "tof_width_mm", D.deposit, events.replace(tof_width_mm=np.ones(len(events), np.float32)))
    refused(ValueError, "em_step takes them", D.deposit, events.replace(additive=np.ones(len(events), np.float32)))
    refused(ValueError, "give one of them", tof.direct, wide, tof_fwhm_ps=300, lor_fwhm_mm=[(0, 10)],
            lor_fwhm_at_mm=[(0, 10)])
    refused(ValueError, "tof_fwhm_ps", tof.direct, wide)
    refused(ValueError, "acceptance_deg", tof.direct, wide, acceptance_deg=100, tof_fwhm_ps=300)
    refused(ValueError, "two_stage", tof.direct, wide, operator="one_stage", tof_fwhm_ps=300, lor_fwhm_mm=10)
    refused(ValueError, "lattice", tof.direct, wide, lattice="polar", tof_fwhm_ps=300)
    camera = turn()
    refused(ValueError, "op has no histo-images", lambda: tof.operators.call(
        "tof_deposit", camera._handle, tof.operators.ctypes.byref(tof.operators.events_struct(events)), 0, h.ctypes.data, None,
        None))


def terms_of_a_scanner():
    """m_v: on the image's lattice their sum is the scanner's sensitivity, and with them OSEM finds what a scan is of."""
    wide = tof.Grid((20, 20, 8), (8, 8, 8))
    D = tof.direct(wide, views=(6, 1), acceptance_deg=60, tof_fwhm_ps=300, lor_fwhm_mm=10, lattice="image",
                   operator="one_stage")
    m = D.multiplicative("demo_ring", most_lines=2_000_000)
    assert m.shape == D.out_shape and m.dtype == np.float32 and 0 < D.lines["accepted"] <= D.lines["drawn"]
    none = np.zeros(2, np.uint32)
    events = tof.Events(scanner="demo_ring", detector1=none, detector2=none + 100)
    s = tof.joseph(wide, events, sensitivity=dict(exact_pairs=0, sampled_pairs=2_000_000, cache=False)).sensitivity()
    assert abs(m.sum() / s.sum() - 1) < 0.01 and abs(m.sum(0) / s - 1).max() < 0.1, (m.sum() / s.sum(), m.sum(0) / s)
    water = np.full((1, 1, 1), 0.096, np.float32)
    less = D.multiplicative("demo_ring", mu=water, mu_grid=tof.Grid((1, 1, 1), (100, 100, 100)), most_lines=100_000)
    assert 0.3 < less[:, 4, 10, 10].mean() / m[:, 4, 10, 10].mean() < 0.5  # exp(-0.96) along an axis

    truth = np.zeros(wide.shape, np.float32)
    truth[2:6, 6:14, 6:14] = 100
    counts = m * D(truth)
    x = tof.osem(D.split(3), counts, multiplicative=m, updates=60, image=np.ones(wide.shape, np.float32))
    assert np.linalg.norm(m * D(x) - counts) < 0.05 * np.linalg.norm(counts)
    refused(ValueError, "multiplicative is given", tof.osem, [tof.joseph(wide, events)], updates=1,
            multiplicative=np.ones(2, np.float32), image=np.ones(wide.shape, np.float32))
    refused(OSError, "no_such", D.multiplicative, "no_such")
    refused(ValueError, "most_lines is 10", D.multiplicative, "demo_ring", most_lines=10)
    refused(TypeError, "mu has the shape", D.multiplicative, "demo_ring", mu=water)


def randoms_of_a_scan():
    """b_v: in proportion to time and rate, the same from delayeds as from their rate, and what OSEM needs beside m_v."""
    wide = tof.Grid((20, 20, 8), (8, 8, 8))
    D = tof.direct(wide, views=(6, 1), acceptance_deg=60, tof_fwhm_ps=300, lor_fwhm_mm=10)
    lines = dict(most_lines=50_000)
    b = D.additive("demo_ring", 10, rate_cps=5000, window_mm=900, **lines)
    assert b.shape == D.out_shape and b.dtype == np.float32 and b.min() >= 0 and 0 < b.sum() < 50000
    assert np.allclose(D.additive("demo_ring", 20, rate_cps=2500, window_mm=900, **lines), b, rtol=1e-5)
    assert np.allclose(2 * D.additive("demo_ring", 10, rate_cps=5000, window_mm=1800, **lines), b, rtol=1e-5)
    assert D.additive("demo_ring", 10, rate_cps=5000, **lines).sum() > 0  # over the scanner's own window
    pairs = random.integers(0, 6144, (2, 50000)).astype(np.uint32)
    delayeds = tof.Events(detector1=pairs[0], detector2=pairs[1])
    fitted = D.additive("demo_ring", 10, delayeds=delayeds, window_mm=900, **lines)
    assert abs(fitted.sum() / b.sum() - 1) < 0.05, fitted.sum() / b.sum()

    m = D.multiplicative("demo_ring", **lines)
    truth = np.zeros(wide.shape, np.float32)
    truth[2:6, 6:14, 6:14] = 1
    true = m * D(truth)
    b *= true.sum() / b.sum()  # as many randoms as trues
    start = np.ones(wide.shape, np.float32)
    with_b, without = (tof.osem(D.split(3), true + b, multiplicative=m, additive=additive, updates=45, image=start)
                       for additive in (b, None))
    inside = truth > 0
    assert abs(with_b[inside].mean() - 1) < 0.05 and abs(with_b.sum() / truth.sum() - 1) < 0.05
    assert without.sum() > 2 * truth.sum()
    refused(ValueError, "give one of them", D.additive, "demo_ring", 10)
    refused(ValueError, "give one of them", D.additive, "demo_ring", 10, rate_cps=5, delayeds=delayeds)
    refused(ValueError, "from.seconds is 0", D.additive, "demo_ring", 0, rate_cps=5)
    refused(ValueError, "from.window_mm is -1", D.additive, "demo_ring", 1, rate_cps=5, window_mm=-1)
    refused(ValueError, "has no detector1", D.additive, "demo_ring", 1, delayeds=tof.Events.from_lors(
        np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32)))
    refused(ValueError, "from.most_lines is 10", D.additive, "demo_ring", 1, rate_cps=5, most_lines=10)
    refused(TypeError, "delayeds is a ndarray", D.additive, "demo_ring", 1, delayeds=pairs)


def in_double():
    """By the definition: float64 in and out, near the fast operator, and nothing else than A and its transpose."""
    events, views = lines(100), dict(angles_deg=[0, 45], radius_mm=120, detector=(14, 9), pixel_mm=(7, 8),
                                     psf=dict(slope=0.02, sigma0_mm=2))
    exact = dict(precision="double")
    ends = [end.reshape(10, 10, 3) for end in (np.stack([events.x1, events.y1, events.z1], 1),
                                               np.stack([events.x2, events.y2, events.z2], 1))]
    sinogram = tof.Lors(*ends, tof_bins=(3, 40.0, 30.0))
    for made in (lambda **p: tof.spect(grid, **views, **p), lambda **p: tof.joseph(grid, events, **p),
                 lambda **p: tof.joseph(grid, sinogram, **p),
                 lambda **p: tof.tor(grid, events, tube_width_voxels=3, fwhm_mm=8, **p)):
        A, R = made(), made(**exact)
        assert A.dtype == np.float32 and R.dtype == np.float64 and R.device == "cpu" and R.out_shape == A.out_shape
        x, y = random.random(R.in_shape), random.random(R.out_shape)
        assert R(x).dtype == R.T(y).dtype == np.float64
        assert np.allclose(R(x), A(x.astype(np.float32)), rtol=1e-4, atol=1e-4 * R(x).max())
        assert abs(np.vdot(R(x), y) / np.vdot(x, R.T(y)) - 1) < 1e-12
        out = np.empty(R.out_shape)
        assert R(x, out=out) is out and np.array_equal(out, R(x))
        assert all(np.array_equal(part(x), R(x)[part.indices]) for part in R.split(2))
        assert abs(R.norm() / A.norm() - 1) < 1e-4
        refused(TypeError, "image has the type float32, and must be float64", R, x.astype(np.float32))
        refused(TypeError, "image has the type float64, and must be float32", A, x)
        refused(TypeError, "em_step: an operator in double precision has only A", R.em_step, x)
        refused(TypeError, "sensitivity: an operator in double", R.sensitivity)
    refused(MemoryError, "use a smaller image", tof.joseph, tof.Grid((4000, 4000, 4000), (1, 1, 1)), events, **exact)
    refused(ValueError, "precision is 'half'", tof.joseph, grid, events, precision="half")
    refused(ValueError, "precision is 'double', and", tof.joseph, grid, events, precision="double", device="cuda")


def likelihood():
    A = turn()
    truth = random.random(A.in_shape, np.float32)
    counts = A(truth) * 50
    x, s = np.full(A.in_shape, 20, np.float32), A.sensitivity()
    assert np.allclose(s, A.adjoint(np.ones(A.out_shape, np.float32)), rtol=1e-5)
    step = A.em_step(x, counts)
    assert np.allclose(step, A.adjoint(tof.ratio(counts, A(x))), rtol=1e-4, atol=1e-4)
    assert np.allclose(A.gradient(x, counts), step - s, rtol=1e-4, atol=1e-3)
    for share in (0.5, 2.0):  # the gradient's sensitivity is that of these weights, not of earlier ones
        m = np.full(A.out_shape, share, np.float32)
        wanted = A.em_step(x, counts, multiplicative=m) - np.float32(share) * s
        assert np.allclose(A.gradient(x, counts, multiplicative=m), wanted, rtol=1e-4, atol=1e-3)

    def log_likelihood(image):
        expected = A(image)
        seen = expected > 0
        return float((counts[seen] * np.log(expected[seen])).sum() - expected.sum())

    before = log_likelihood(x)
    for _ in range(5):
        x = x * tof.ratio(A.em_step(x, counts), s)
        now = log_likelihood(x)
        assert now >= before - 1e-3 * abs(before) * 1e-3
        before = now
    assert abs(dot(s, x) / counts.sum() - 1) < 1e-4


def subsets():
    A = turn()
    parts = A.split(4)
    assert [part.indices.tolist() for part in parts] == [[k, k + 4, k + 8] for k in range(4)]
    x = random.random(A.in_shape, np.float32)
    whole = A(x)
    for part in parts:
        assert np.array_equal(part(x), whole[part.indices])
    one = tof.osem(A.split(1), whole, updates=3, image=np.ones(A.in_shape, np.float32))
    mlem, s = np.ones(A.in_shape, np.float32), A.sensitivity()
    for _ in range(3):
        mlem = mlem * (tof.ratio(A.em_step(mlem, whole), s) * (s > 0) + (s <= 0))
    assert np.array_equal(one, mlem.astype(np.float32))
    del A
    assert parts[0](x).shape == parts[0].out_shape  # parts outlive the whole


def other_libraries():
    try:
        import scipy.sparse.linalg as linear
    except ModuleNotFoundError:
        return
    A = turn()
    truth = random.random(A.in_shape, np.float32)
    found = linear.lsqr(A.as_scipy(), A(truth).ravel(), iter_lim=30)[0].reshape(A.in_shape)
    assert np.linalg.norm(A(found.astype(np.float32)) - A(truth)) < 0.02 * np.linalg.norm(A(truth))


def wrong_arrays():
    A = turn()
    x = np.ones(A.in_shape, np.float32)
    refused(TypeError, "image has the type float64, and must be float32", A, x.astype(np.float64))
    refused(TypeError, "image has the shape (12, 10, 8), and must have (8, 10, 12)", A, np.ones((12, 10, 8), np.float32))
    refused(TypeError, "image is not C-contiguous", A, np.asfortranarray(x))
    refused(TypeError, "image is a list", A, [1, 2])
    refused(TypeError, "data has the shape", A.adjoint, x)
    refused(TypeError, "out has the type", A, x, out=np.empty(A.out_shape))
    fixed = np.empty(A.out_shape, np.float32)
    fixed.flags.writeable = False
    refused(TypeError, "out is read-only", A, x, out=fixed)
    refused(ValueError, "did you mean 'psf_form'?", turn, psf_from="none")
    refused(ValueError, "device is 'gpu'", turn, device="gpu")
    refused(ValueError, "parts is 13", A.split, 13)
    refused(ValueError, "events.scanner is null", tof.joseph(grid, lines()).sensitivity)
    refused(TypeError, "points have the shape (3, 2)", tof.Events.from_lors, np.ones((3, 2), np.float32), np.ones((3, 2), np.float32))
    bad = lines()
    bad.x1[7] = np.nan
    refused(ValueError, "events.x1[7] is nan", tof.joseph, grid, bad)
    detectors = np.full(3, 10**6, np.uint32)
    refused(ValueError, "events.detector1[0] is 1000000", tof.joseph, grid,
            tof.Events(scanner="demo_ring", detector1=detectors, detector2=detectors))


def threads_and_forks():
    A = turn()
    x = np.ones(A.in_shape, np.float32)
    with A._used():  # as another thread in a long call
        refused(RuntimeError, "another thread is using this operator", A, x)
    failed = []
    own = [turn() for _ in range(4)]
    expected = A(x)
    def work(op):
        for _ in range(5):
            if not np.array_equal(op(x), expected):
                failed.append(op)
    workers = [threading.Thread(target=work, args=(op,)) for op in own]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert not failed
    child = os.fork()
    if child == 0:
        try:
            refused(RuntimeError, "made before the process forked", A, x)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def warnings_are_heard():
    import logging

    heard = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())
    logging.getLogger("tofstream").addHandler(handler)
    A = tof.spect(grid, angles_deg=[0, 90], radius_mm=120, detector=(14, 9), pixel_mm=(7, 8))
    assert heard and heard[0].startswith("rotation_projector: no point spread"), heard
    assert A.report["point_spread"]
    logging.getLogger("tofstream").removeHandler(handler)


def many_operators():
    import resource

    small = tof.Grid((4, 4, 4), (8, 8, 8))
    def make():
        tof.spect(small, angles_deg=[0, 90], radius_mm=100, detector=(4, 4), pixel_mm=(8, 8))
    for _ in range(200):
        make()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3000):
        make()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000, "operators leave memory behind"


for check in (adjointness, histo_images, terms_of_a_scanner, randoms_of_a_scan, in_double, likelihood, subsets, other_libraries, wrong_arrays,
              threads_and_forks, warnings_are_heard, many_operators):
    check()
print("all passed")
# SPDX-License-Identifier: Apache-2.0
