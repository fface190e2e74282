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


def turn(on=grid, detector=(7, 5), **more):
    return tof.spect(on, angles_deg=45 * np.arange(8), radius_mm=80, detector=detector, pixel_mm=(7, 8),
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

    exact = turn(precision="double").as_scipy()  # in which lsqr solves to double precision
    assert exact.dtype == np.float64 and np.allclose(exact @ truth, M @ truth, rtol=1e-5)
    y = exact @ truth
    found = linalg.lsqr(exact, y, atol=0, btol=0, conlim=0, iter_lim=3000)[0]
    assert np.linalg.norm(exact @ found - y) < 1e-9 * np.linalg.norm(y)


def in_double():
    """Operators of each family in double precision, small: gradcheck projects once for each number of their arrays."""
    tiny = tof.Grid((4, 3, 3), (8, 9, 10))
    ends, double = ring_ends(9), dict(precision="double")
    time = dict(tof_mm=np.linspace(-20, 20, 9, dtype=np.float32), tof_sigma_mm=25.0, tof_bin_mm=10.0)
    timed, bins = tof.Events.from_lors(*ends, **time), [end.reshape(3, 3, 3) for end in ends]
    z, zero = np.linspace(-100, 100, 9, dtype=np.float32), np.zeros(9, np.float32)
    strips = tof.Events(scanner="jpet_strip", x1=zero, y1=zero + 130, z1=z, x2=zero, y2=zero - 130, z2=z[::-1].copy(),
                        **time)
    yield turn(on=tiny, detector=(3, 2), mu=np.full(tiny.shape, 0.1, np.float32), **double)
    yield tof.joseph(tiny, timed, **double)
    yield tof.joseph(tiny, tof.Lors(*bins, tof_bins=(3, 20.0, 25.0)), **double)
    yield tof.tor(tiny, timed, tube_width_voxels=3, fwhm_mm=8, **double)
    yield tof.blobs(tof.Grid((3, 3, 2), (8, 8, 8), blob_radius_mm=12, blob_alpha=10.4), timed, **double)
    yield tof.strips(tof.Grid((1, 3, 4), (20, 20, 20)), strips, **double)
    yield tof.direct(tof.Grid((4, 4, 2), (8, 8, 8)), views=(2, 1), acceptance_deg=30, tof_fwhm_ps=200, lor_fwhm_mm=12,
                     **double)


def torch():
    import torch

    # By their definition in double precision, with gradcheck's own steps and tolerances.
    for exact in in_double():
        for operator in (exact, exact.T):
            layer = operator.as_torch()
            x = torch.rand(operator.in_shape, dtype=torch.float64, requires_grad=True)
            assert torch.autograd.gradcheck(layer, x, check_forward_ad=True)
            y = torch.rand(operator.out_shape, dtype=torch.float64, requires_grad=True)
            assert torch.autograd.gradgradcheck(layer, x, y, fast_mode=True)
            refused(TypeError, "has the type float32, and must be float64", layer, x.float())

    A = turn()
    M = torch.tensor(matrix(A))
    # The fast operators are float32, so a difference quotient with gradcheck's step of 1e-6 would be rounding alone.
    # They are also linear, so that any step gives the derivative: with 1 the quotient is a column of A, to float32's
    # precision. Sums of so many products differ by some 1e-6 of the matrix's largest value.
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


def ring_ends(count):
    angles = random.uniform(0, 2 * np.pi, (2, count))
    return [np.stack([60 * np.cos(a), 60 * np.sin(a), random.uniform(-15, 15, count)], 1).astype(np.float32) for a in angles]


def ring(count):
    return tof.Events.from_lors(*ring_ends(count))


def cil():
    is_real = importlib.util.find_spec("cil") is not None
    if not is_real:
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
    refused(ValueError, "must have ('vertical', 'horizontal_y', 'horizontal_x') of (4, 5, 6)", K.direct, y)
    if is_real:
        cil_axes(images, views)
        cil_adjointness(images, views)
        cil_algorithms(images, views)
    image = runpy.run_path("share/examples/python/pdhg_cil.py")["image"]
    assert 85 < image[12, 9, 15] < 115 and abs(image[12, 15, 9]) < 1 and image.min() > -1e-6
    print("with CIL itself" if is_real else "with a stand-in for CIL")


def cil_axes(images, views):
    """Orders of axes that are not ours, axes of length 1 that CIL has not, and types."""
    from cil.framework import AcquisitionGeometry, ImageGeometry

    even = turn(on=tof.Grid((5, 5, 5), (8, 8, 8)))
    other = ImageGeometry(5, 5, 5)
    other.set_labels(("horizontal_y", "vertical", "horizontal_x"))
    refused(ValueError, "has the axes ('horizontal_y', 'vertical', 'horizontal_x'): set their order", even.as_cil, other,
            views)
    K = even.as_cil(ImageGeometry(5, 5, 5), views)
    refused(ValueError, "must have ('vertical', 'horizontal_y', 'horizontal_x')", K.direct, other.allocate(1))
    refused(TypeError, "the container is complex", K.direct, ImageGeometry(5, 5, 5).allocate(1, dtype=np.complex64))

    flat = turn(on=tof.Grid((6, 5, 1), (8, 9, 10)), detector=(7, 1))  # one slice, which CIL has as two axes
    rows = AcquisitionGeometry.create_Parallel2D().set_angles(45 * np.arange(8)).set_panel(7, pixel_size=7)
    K = flat.as_cil(ImageGeometry(6, 5), rows)
    x = K.domain_geometry().allocate("random", seed=1)
    assert x.shape == (5, 6) and np.array_equal(K.direct(x).as_array(), flat(x.as_array()[None])[:, 0])
    assert K.adjoint(rows.allocate(1)).shape == (5, 6)
    double = images.allocate("random", seed=1, dtype=np.float64)
    A = turn()
    assert np.array_equal(A.as_cil(images, views).direct(double).as_array(), A(double.as_array().astype(np.float32)))


def sinogram():
    """24 parallel lines in each of 8 directions and 3 slices, with 5 bins: [angle, slice, line, bin]."""
    angles, slices, across = np.meshgrid(np.pi / 8 * np.arange(8), [-10, 0, 10], np.linspace(-25, 25, 24), indexing="ij")
    along, side = np.stack([np.cos(angles), np.sin(angles)], -1), np.stack([-np.sin(angles), np.cos(angles)], -1)
    ends = [np.concatenate([across[..., None] * side + way * 60 * along, slices[..., None]], -1) for way in (-1, 1)]
    return tof.joseph(grid, tof.Lors(*(np.ascontiguousarray(end, np.float32) for end in ends), tof_bins=(5, 20.0, 25.0)))


def cil_operators(images, views):
    """Ours as CIL's, of each kind of data, with a geometry that suits it."""
    from cil.framework import AcquisitionGeometry, VectorGeometry

    S, events = sinogram(), ring(200)
    D = tof.direct(tof.Grid((10, 10, 4), (8, 8, 8)), views=(4, 1), acceptance_deg=30, tof_fwhm_ps=300, lor_fwhm_mm=12)
    bins = AcquisitionGeometry.create_Parallel3D().set_angles(22.5 * np.arange(8)).set_panel((24, 3)).set_channels(5)
    histo = AcquisitionGeometry.create_Parallel3D().set_angles(45 * np.arange(4)).set_panel((10, 4)).set_channels(10)
    for geometry in (bins, histo):
        geometry.set_labels(("angle", "vertical", "horizontal", "channel"))
    yield "views", turn().as_cil(images, views)
    yield "views with attenuation", turn(mu=np.full(grid.shape, 0.1, np.float32)).as_cil(images, views)
    yield "sinogram", S.as_cil(images, bins)
    yield "events", tof.joseph(grid, events).as_cil(images, VectorGeometry(len(events)))
    yield "histo-images", D.as_cil(images_of(D), histo)


def images_of(operator):
    from cil.framework import ImageGeometry

    z, y, x = operator.in_shape
    return ImageGeometry(x, y, z)


def cil_adjointness(images, views):
    from cil.optimisation.operators import LinearOperator

    for name, K in cil_operators(images, views):
        assert LinearOperator.dot_test(K), name
        assert abs(LinearOperator.PowerMethod(K, max_iteration=100) / K.norm() - 1) < 1e-2, name
    exact = turn(precision="double").as_cil(images, views)
    assert LinearOperator.dot_test(exact)


def cil_algorithms(images, views):
    """CIL's PDHG and FISTA find images that explain the data which they are given."""
    from cil.optimisation.algorithms import FISTA, PDHG
    from cil.optimisation.functions import IndicatorBox, KullbackLeibler, LeastSquares

    for name, K in cil_operators(images, views):
        truth, data = K.domain_geometry().allocate("random", seed=3), K.range_geometry().allocate(0)
        K.direct(truth, out=data)
        positive, background = IndicatorBox(lower=0), K.range_geometry().allocate(0.1 * float(data.max()))
        fista = FISTA(initial=K.domain_geometry().allocate(0), f=LeastSquares(K, data), g=positive,
                      update_objective_interval=200)
        fista.run(200, verbose=0)
        assert (K.direct(fista.solution) - data).norm() < 0.005 * data.norm(), name
        likelihood = KullbackLeibler(b=data + background, eta=background, backend="numpy")
        pdhg = PDHG(f=likelihood, g=positive, operator=K, update_objective_interval=200)
        pdhg.run(200, verbose=0)
        assert (K.direct(pdhg.solution) - data).norm() < 0.01 * data.norm(), name
        assert pdhg.objective[-1] < 1e-3 * pdhg.objective[0], (name, pdhg.objective)


if sys.argv[1] in ("scipy", "torch") and importlib.util.find_spec(sys.argv[1]) is None:
    print(f"skipped: no {sys.argv[1]}")
else:
    {"scipy": scipy, "torch": torch, "cil": cil}[sys.argv[1]]()
    print("all passed")
# SPDX-License-Identifier: Apache-2.0
