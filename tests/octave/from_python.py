"""Arrays and what Python's operators make of them, into the folder that is given: same_as_python.m compares."""

import sys

import numpy as np

import tofstream as tof

folder = sys.argv[1]
random = np.random.default_rng(2)
grid = tof.Grid((12, 10, 8), (8, 9, 10))


def keep(**arrays):
    for name, array in arrays.items():
        assert array.dtype == np.float32 and array.flags.c_contiguous
        array.tofile(f"{folder}/{name}")


x = random.random(grid.shape, np.float32)
mu = (0.1 * random.random(grid.shape)).astype(np.float32)
A = tof.spect(grid, angles_deg=24 * np.arange(15), radius_mm=120, detector=(14, 9), pixel_mm=(7, 8),
              psf=dict(slope=0.02, sigma0_mm=2), mu=mu)
counts = np.round(40 * A(x))
additive = np.full(A.out_shape, 0.5, np.float32)
keep(x=x, mu=mu, counts=counts, additive=additive, forward=A(x), adjoint=A.adjoint(counts),
     osem=tof.osem(A.split(7), counts, additive=additive, updates=10, image=np.ones(A.in_shape, np.float32)))

angles = random.uniform(0, 2 * np.pi, (2, 500))
ends = [np.float32(np.stack([200 * np.cos(a), 200 * np.sin(a), random.uniform(-30, 30, 500)], 1)) for a in angles]
time = random.uniform(-60, 60, 500).astype(np.float32)
events = tof.Events.from_lors(*ends, tof_mm=time, tof_sigma_mm=30.0, tof_bin_mm=20.0)
J, T = tof.joseph(grid, events), tof.tor(grid, events, tube_width_voxels=3, fwhm_mm=8)
exact = tof.joseph(grid, events, precision="double")(x.astype(np.float64))
D = tof.direct(tof.Grid((16, 16, 6), (8, 8, 8)), views=(6, 1), acceptance_deg=60, tof_fwhm_ps=300, lor_fwhm_mm=10)
keep(exact=exact.astype(np.float32), deposited=D.deposit(events), histo=D(np.ones(D.in_shape, np.float32)),
     m=D.multiplicative("demo_ring", most_lines=20000),
     b=D.additive("demo_ring", 10, rate_cps=500, window_mm=900, most_lines=20000))
lines = np.ascontiguousarray(np.concatenate([ends[0].T, ends[1].T, time[None]]))
keep(lines=lines, joseph=J(x), joseph_adjoint=J.adjoint(J(x)), tor=T(x), tor_adjoint=T.adjoint(T(x)),
     joseph_step=J.em_step(x, additive=np.ones(500, np.float32)))
# SPDX-License-Identifier: Apache-2.0
