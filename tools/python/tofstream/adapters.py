"""Operators as the linear operators of other packages: SciPy's, PyTorch's and CIL's.

Each package is imported when its adapter is asked for. `operator` is an Operator or its transpose."""

from __future__ import annotations

from typing import Any

import numpy as np


def scipy_operator(operator: Any) -> Any:
    """A scipy.sparse.linalg.LinearOperator on flat vectors, C order: from prod(in_shape) to prod(out_shape) numbers.

    SciPy's solvers work in double precision: vectors of any real type are taken and converted to the operator's dtype,
    which the result has too. Raises TypeError for an operator on a GPU and for complex vectors."""
    from scipy.sparse.linalg import LinearOperator

    _require_cpu(operator, "as_scipy()")
    shape = (int(np.prod(operator.out_shape)), int(np.prod(operator.in_shape)))
    return LinearOperator(shape, dtype=operator.dtype, matvec=_on_flat(operator, operator.in_shape),
                          rmatvec=_on_flat(operator.T, operator.out_shape))


def torch_layer(operator: Any) -> Any:
    """A torch.nn.Module that applies the operator to a tensor of shape in_shape and its dtype, on its device.

    Its gradient is the transpose applied to the gradient that comes in; as both are linear, the gradient's gradient is
    the operator again, so it can be differentiated as often as one likes, forwards (jvp) too. Without a batch axis."""
    import torch

    linear = _linear(torch)

    class Projection(torch.nn.Module):
        def forward(self, tensor: Any) -> Any:
            return linear.apply(tensor, operator, operator.T)

        @property
        def T(self) -> Any:  # noqa: N802 (as the operator's)
            return torch_layer(operator.T)

        def extra_repr(self) -> str:
            return f"{operator.in_shape} -> {operator.out_shape}"

    return Projection()


def cil_operator(operator: Any, image_geometry: Any, acquisition_geometry: Any) -> Any:
    """A cil.optimisation.operators.LinearOperator between containers of these geometries, whose shapes must be the
    operator's, but that CIL's have no axes of length 1: labels (vertical, horizontal_y, horizontal_x) for [z, y, x], and
    (angle, vertical, horizontal) for [view, w, u]. Data of other axes take any geometry of their shape, events a
    VectorGeometry. The geometries are not compared further: the operator's own grid and angles count.

    Containers of any real type are taken and converted to the operator's dtype. Raises ValueError for other shapes and
    other orders of axes, TypeError for an operator on a GPU and for complex containers."""
    from cil.optimisation.operators import LinearOperator

    _require_cpu(operator, "as_cil()")
    _require_geometry(image_geometry, operator.in_shape, _IMAGE_LABELS, "image_geometry")
    _require_geometry(acquisition_geometry, operator.out_shape, operator._cil_labels, "acquisition_geometry")

    class Projection(LinearOperator):  # type: ignore[misc]  # CIL has no types
        def __init__(self) -> None:
            super().__init__(domain_geometry=image_geometry, range_geometry=acquisition_geometry)

        def direct(self, x: Any, out: Any = None) -> Any:
            return _filled(operator, x, image_geometry, acquisition_geometry, out)

        def adjoint(self, x: Any, out: Any = None) -> Any:
            return _filled(operator.T, x, acquisition_geometry, image_geometry, out)

        def calculate_norm(self) -> float:
            return operator.norm()

    return Projection()


def _require_cpu(operator: Any, adapter: str) -> None:
    if operator.device != "cpu":
        raise TypeError(f"{adapter} gives NumPy arrays, and the operator works on {operator.device}: make it on the CPU")


_IMAGE_LABELS = ("vertical", "horizontal_y", "horizontal_x")


def _require_geometry(geometry: Any, shape: tuple[int, ...], labels: Any, name: str) -> None:
    """Axes of length 1 are none in CIL. `labels` are those of three axes, None where any will do."""
    wanted = tuple(length for length in shape if length != 1)
    if tuple(length for length in geometry.shape if length != 1) != wanted:
        raise ValueError(f"{name} has the shape {tuple(geometry.shape)}, and must have {wanted}")
    if labels is None or len(shape) != 3:
        return
    order = _axes(geometry)
    if [label for label in labels if label in order] != list(order):
        raise ValueError(f"{name} has the axes {order}: set their order to {labels}")


def _axes(of: Any) -> tuple[str, ...]:
    """The labels of a geometry's or a container's axes; a vector's have none."""
    return tuple(str(label) for label in of.dimension_labels or ())


def _on_flat(operator: Any, shape: tuple[int, ...]) -> Any:
    def apply(vector: Any) -> Any:
        if np.iscomplexobj(vector):
            raise TypeError("the vector is complex, and must be real")
        return operator(np.ascontiguousarray(vector, operator.dtype).reshape(shape)).ravel()

    return apply


def _linear(torch: Any) -> Any:
    """The autograd function (tensor, operator, transpose) -> operator(tensor)."""

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, tensor: Any, operator: Any, transpose: Any) -> Any:
            context.operator, context.transpose = operator, transpose
            return operator(tensor.detach().contiguous())

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return Linear.apply(gradient, context.transpose, context.operator), None, None

        @staticmethod
        def jvp(context: Any, tangent: Any, *_others: Any) -> Any:
            return Linear.apply(tangent, context.operator, context.transpose)

    return Linear


def _filled(operator: Any, container: Any, domain: Any, geometry: Any, out: Any) -> Any:
    given = container.as_array()
    if np.iscomplexobj(given):
        raise TypeError("the container is complex, and must be real")
    if given.shape != tuple(domain.shape) or _axes(container) != _axes(domain):
        raise ValueError(f"the container has the axes {_axes(container)} of {given.shape}, and must have "
                         f"{_axes(domain)} of {tuple(domain.shape)}")
    found = operator(np.ascontiguousarray(given, operator.dtype).reshape(operator.in_shape))
    result = geometry.allocate(None) if out is None else out
    result.fill(found.reshape(geometry.shape))
    return result
# SPDX-License-Identifier: Apache-2.0
