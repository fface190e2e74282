"""What pip calls to make a wheel of this tree (PEP 517): scikit-build-core where it is installed, else setuptools,
which setup.py tells what to build with CMake. Both put the same files into the wheel.

setuptools also makes wheels for other machines (`--build-option=--plat-name=manylinux_...`, tools/package) and editable
installations, whose package finds the build folder."""

import importlib.util


def _has_scikit_build_core():
    return importlib.util.find_spec("scikit_build_core") is not None


def _backend(config_settings):
    if _has_scikit_build_core() and "--build-option" not in (config_settings or {}):
        from scikit_build_core import build

        return build
    from setuptools import build_meta

    return build_meta


def get_requires_for_build_wheel(config_settings=None):
    # Asked before anything is installed into pip's own environment.
    return [] if _has_scikit_build_core() else ["setuptools>=61", "wheel"]


def get_requires_for_build_editable(config_settings=None):
    return ["setuptools>=64", "wheel"]


get_requires_for_build_sdist = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    return _backend(config_settings).prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _backend(config_settings).build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    return _backend(config_settings).build_sdist(sdist_directory, config_settings)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    from setuptools import build_meta

    return build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
# SPDX-License-Identifier: Apache-2.0
