"""Operators as the linear operators of other packages: SciPy's, PyTorch's and CIL's.

Each package is imported when its adapter is asked for. `operator` is an Operator or its transpose."""

from __future__ import annotations

from typing import Any

import numpy as np


def scipy_operator(operator: Any) -> Any:
    """A scipy.sparse.linalg.LinearOperator on flat vectors, C order: from prod(in_shape) to prod(out_shape) numbers.

    SciPy's solvers work in double precision: vectors of any real type are taken and converted to float32, which the
    result is too. Raises TypeError for an operator on a GPU and for complex vectors."""
    from scipy.sparse.linalg import LinearOperator

    _require_cpu(operator, "as_scipy()")
    shape = (int(np.prod(operator.out_shape)), int(np.prod(operator.in_shape)))
    return LinearOperator(shape, dtype=np.float32, matvec=_on_flat(operator, operator.in_shape),
                          rmatvec=_on_flat(operator.T, operator.out_shape))


def torch_layer(operator: Any) -> Any:
    """A torch.nn.Module that applies the operator to a float32 tensor of shape in_shape, on the operator's device.

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
    operator's: labels (vertical, horizontal_y, horizontal_x) for [z, y, x], and (angle, vertical, horizontal) for
    [view, w, u]. The geometries are not compared further: the operator's own grid and angles count.

    Written from CIL's documentation; CIL itself has not been run with it. Raises ValueError for other shapes, TypeError
    for an operator on a GPU."""
    from cil.optimisation.operators import LinearOperator

    _require_cpu(operator, "as_cil()")
    _require_shape(image_geometry, operator.in_shape, "image_geometry")
    _require_shape(acquisition_geometry, operator.out_shape, "acquisition_geometry")

    class Projection(LinearOperator):  # type: ignore[misc]  # CIL has no types
        def __init__(self) -> None:
            super().__init__(domain_geometry=image_geometry, range_geometry=acquisition_geometry)

        def direct(self, x: Any, out: Any = None) -> Any:
            return _filled(operator, x, acquisition_geometry, out)

        def adjoint(self, x: Any, out: Any = None) -> Any:
            return _filled(operator.T, x, image_geometry, out)

        def calculate_norm(self) -> float:
            return operator.norm()

    return Projection()


def _require_cpu(operator: Any, adapter: str) -> None:
    if operator.device != "cpu":
        raise TypeError(f"{adapter} gives NumPy arrays, and the operator works on {operator.device}: make it on the CPU")


def _require_shape(geometry: Any, shape: tuple[int, ...], name: str) -> None:
    if tuple(geometry.shape) != tuple(shape):
        raise ValueError(f"{name} has the shape {tuple(geometry.shape)}, and must have {tuple(shape)}")


def _on_flat(operator: Any, shape: tuple[int, ...]) -> Any:
    def apply(vector: Any) -> Any:
        if np.iscomplexobj(vector):
            raise TypeError("the vector is complex, and must be real")
        return operator(np.ascontiguousarray(vector, np.float32).reshape(shape)).ravel()

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


def _filled(operator: Any, container: Any, geometry: Any, out: Any) -> Any:
    result = geometry.allocate(None) if out is None else out
    result.fill(operator(np.ascontiguousarray(container.as_array(), np.float32)))
    return result
# SPDX-License-Identifier: Apache-2.0
