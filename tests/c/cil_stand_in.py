"""A stand-in for CIL, which is not where most of the tests run: what as_cil() and its example use of it. It shows that
our side keeps to that interface, and nothing about CIL itself; adapters.py takes CIL where it can be imported."""

import sys
import types

import numpy as np


class DataContainer:
    def __init__(self, array, geometry):
        self._array, self.geometry, self.dimension_labels = array, geometry, geometry.dimension_labels

    def as_array(self):
        return self._array

    def fill(self, array):
        if np.shape(array) != self._array.shape:
            raise ValueError("Cannot fill with an array of another shape")
        np.copyto(self._array, array)


class Geometry:
    def allocate(self, value=0):
        return DataContainer(np.full(self.shape, value or 0, np.float32), self)


class ImageGeometry(Geometry):
    dimension_labels = ("vertical", "horizontal_y", "horizontal_x")

    def __init__(self, voxel_num_x=0, voxel_num_y=0, voxel_num_z=0, voxel_size_x=1, voxel_size_y=1, voxel_size_z=1):
        self.shape = (voxel_num_z, voxel_num_y, voxel_num_x)


class AcquisitionGeometry(Geometry):
    dimension_labels = ("angle", "vertical", "horizontal")

    @staticmethod
    def create_Parallel3D():  # noqa: N802 (CIL's name)
        return AcquisitionGeometry()

    def set_angles(self, angles, initial_angle=0, angle_unit="degree"):
        self._angles = len(angles)
        return self

    def set_panel(self, num_pixels, pixel_size=(1, 1), origin="bottom-left"):
        self.shape = (self._angles, num_pixels[1], num_pixels[0])
        return self


class LinearOperator:
    def __init__(self, domain_geometry, **kwargs):
        self._domain_geometry, self._range_geometry, self._norm = domain_geometry, kwargs.get("range_geometry"), None

    def domain_geometry(self):
        return self._domain_geometry

    def range_geometry(self):
        return self._range_geometry

    def is_linear(self):
        return True

    def norm(self):
        if self._norm is None:
            self._norm = self.calculate_norm()
        return self._norm


class KullbackLeibler:
    def __init__(self, b, eta):
        self._b, self._eta = b.as_array(), eta.as_array()

    def proximal_conjugate(self, z, sigma):
        shifted = z + sigma * self._eta
        return 0.5 * (1 + shifted - np.sqrt((shifted - 1) ** 2 + 4 * sigma * self._b))


class IndicatorBox:
    def __init__(self, lower):
        self._lower = lower

    def proximal(self, x, _tau):
        return np.maximum(x, self._lower)


class PDHG:
    """Chambolle and Pock, J Math Imaging Vis 40:120, 2011, algorithm 1, with containers for all that the operator sees."""

    def __init__(self, f, g, operator, tau=None, sigma=None, update_objective_interval=1):
        self._f, self._g, self._operator, self._tau, self._sigma = f, g, operator, tau, sigma
        self.solution = operator.domain_geometry().allocate(0)
        self._bar, self._dual = operator.domain_geometry().allocate(0), operator.range_geometry().allocate(0)
        self._x, self._y = operator.domain_geometry().allocate(0), operator.range_geometry().allocate(0)

    def run(self, iterations):
        for _ in range(iterations):
            self._operator.direct(self._bar, out=self._y)
            self._dual.fill(self._f.proximal_conjugate(self._dual.as_array() + self._sigma * self._y.as_array(), self._sigma))
            self._operator.adjoint(self._dual, out=self._x)
            before = self.solution.as_array().copy()
            self.solution.fill(self._g.proximal(before - self._tau * self._x.as_array(), self._tau))
            self._bar.fill(2 * self.solution.as_array() - before)


def install():
    """Puts the stand-in where `import cil...` finds it."""
    _module("cil")
    _module("cil.framework", AcquisitionGeometry=AcquisitionGeometry, ImageGeometry=ImageGeometry)
    _module("cil.optimisation")
    _module("cil.optimisation.operators", LinearOperator=LinearOperator)
    _module("cil.optimisation.functions", IndicatorBox=IndicatorBox, KullbackLeibler=KullbackLeibler)
    _module("cil.optimisation.algorithms", PDHG=PDHG)


def _module(name, **members):
    made = types.ModuleType(name)
    vars(made).update(members)
    sys.modules[name] = made
# SPDX-License-Identifier: Apache-2.0
