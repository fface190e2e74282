"""Operators as those of SciPy, PyTorch and CIL: run by examples.cpp with the name of what it tests. Ends with 'all passed',
with 'skipped: no NAME', or at the first check that fails."""

import importlib.util
import runpy
import sys

import cil_stand_in
import numpy as np
from checks import refused

import tofstream as tof

grid = tof.Grid((6, 5, 4), (8, 9, 10))
random = np.random.default_rng(1)


def turn(**more):
    return tof.spect(grid, angles_deg=45 * np.arange(8), radius_mm=80, detector=(7, 5), pixel_mm=(7, 8),
                     psf=dict(slope=0.02, sigma0_mm=2), **more)


def matrix(operator):
    """The operator, column by column."""
    columns = []
    for k in range(int(np.prod(operator.in_shape))):
        unit = np.zeros(operator.in_shape, np.float32)
        unit.flat[k] = 1
        columns.append(operator(unit).ravel())
    return np.stack(columns, axis=1).astype(np.float64)


def scipy():
    from scipy.sparse import linalg

    A = turn()
    M, L = matrix(A), A.as_scipy()
    assert L.shape == M.shape and L.dtype == np.float32
    truth = random.random(L.shape[1])
    for dtype in (np.float32, np.float64):
        assert np.allclose(L @ truth.astype(dtype), M @ truth, rtol=1e-5)
        assert np.allclose(L.H @ (M @ truth).astype(dtype), M.T @ (M @ truth), rtol=1e-5)
    assert np.allclose(L @ np.stack([truth, truth[::-1]], axis=1), M @ np.stack([truth, truth[::-1]], axis=1), rtol=1e-5)
    assert np.allclose(A.T.as_scipy() @ (M @ truth), M.T @ (M @ truth), rtol=1e-5)

    y = (M @ truth).astype(np.float32)
    found = linalg.lsqr(L, y, iter_lim=200)[0]
    assert np.linalg.norm(M @ found - y) < 1e-3 * np.linalg.norm(y)
    largest = np.linalg.svd(M, compute_uv=False)[:3]
    assert np.allclose(np.sort(linalg.svds(L, k=3, random_state=1)[1])[::-1], largest, rtol=1e-4)
    assert abs(A.norm(100) / largest[0] - 1) < 1e-4
    one_norm = np.abs(M.T @ M).sum(axis=0).max()  # which onenormest estimates from below
    assert 0.3 * one_norm < linalg.onenormest(L.H @ L) < 1.001 * one_norm
    refused(TypeError, "the vector is complex", L.matvec, truth * 1j)


def torch():
    import torch

    A = turn()
    M = torch.tensor(matrix(A))
    # The operator is float32, so a difference quotient with gradcheck's step of 1e-6 would be rounding alone. It is also
    # linear, so that any step gives the derivative: with 1 the quotient is a column of A, to float32's precision. Sums of
    # so many products differ by some 1e-6 of the matrix's largest value.
    near = dict(eps=1.0, atol=1e-5 * float(M.abs().max()), rtol=1e-4, nondet_tol=1e-6)
    events = tof.joseph(grid, ring(40))
    for operator in (A, A.T, events, events.T):
        layer = operator.as_torch()
        x = torch.rand(operator.in_shape, requires_grad=True)
        assert torch.autograd.gradcheck(layer, x, check_forward_ad=True, **near)
        # Each twice differentiable: the gradient is linear in what comes in, and does not depend on x.
        assert torch.autograd.gradgradcheck(layer, x, torch.rand(operator.out_shape, requires_grad=True), **near)
    layer = A.as_torch()
    assert isinstance(layer, torch.nn.Module) and str(A.in_shape) in repr(layer)
    assert torch.equal(layer.T(torch.ones(A.out_shape)), A.adjoint(torch.ones(A.out_shape)))

    # A gradient that is expanded from one number, and an image that is not contiguous.
    x = torch.rand(A.in_shape[::-1], requires_grad=True)
    layer(x.permute(2, 1, 0)).sum().backward()
    assert torch.allclose(x.grad.permute(2, 1, 0), A.adjoint(torch.ones(A.out_shape)))
    # The second derivative of |A x|^2 / 2, applied to v, is A^T A v.
    x, v = torch.rand(A.in_shape, requires_grad=True), torch.rand(A.in_shape)
    applied = torch.autograd.functional.hvp(lambda image: 0.5 * (layer(image) ** 2).sum(), x, v)[1]
    assert torch.allclose(applied, A.adjoint(A(v)), rtol=1e-4)
    refused(TypeError, "image has the type float64", layer, x.double())
    refused(TypeError, "image has the shape (2, 4, 5, 6)", layer, torch.ones(2, *A.in_shape))


def ring(count):
    angles = random.uniform(0, 2 * np.pi, (2, count))
    ends = [np.stack([60 * np.cos(a), 60 * np.sin(a), random.uniform(-15, 15, count)], 1).astype(np.float32) for a in angles]
    return tof.Events.from_lors(*ends)


def cil():
    if importlib.util.find_spec("cil") is None:
        cil_stand_in.install()
    from cil.framework import AcquisitionGeometry, ImageGeometry
    from cil.optimisation.operators import LinearOperator

    A = turn()
    images = ImageGeometry(voxel_num_x=6, voxel_num_y=5, voxel_num_z=4)
    views = AcquisitionGeometry.create_Parallel3D().set_angles(45 * np.arange(8)).set_panel((7, 5), pixel_size=(7, 8))
    K = A.as_cil(images, views)
    assert isinstance(K, LinearOperator) and K.is_linear()
    assert K.domain_geometry() is images and K.range_geometry() is views
    x, y = images.allocate(0), views.allocate(0)
    x.fill(random.random(A.in_shape, np.float32))
    y.fill(random.random(A.out_shape, np.float32))
    assert np.array_equal(K.direct(x).as_array(), A(x.as_array()))
    assert np.array_equal(K.adjoint(y).as_array(), A.adjoint(y.as_array()))
    out = views.allocate(0)
    assert K.direct(x, out=out) is out and np.array_equal(out.as_array(), A(x.as_array()))
    assert abs(K.norm() / A.norm() - 1) < 1e-5
    refused(ValueError, "image_geometry has the shape (8, 5, 7), and must have (4, 5, 6)", A.as_cil, views, images)
    runpy.run_path("share/examples/python/pdhg_cil.py")


if sys.argv[1] in ("scipy", "torch") and importlib.util.find_spec(sys.argv[1]) is None:
    print(f"skipped: no {sys.argv[1]}")
else:
    {"scipy": scipy, "torch": torch, "cil": cil}[sys.argv[1]]()
    print("all passed")
# SPDX-License-Identifier: Apache-2.0
