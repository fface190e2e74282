"""What pyproject.toml cannot say: CMake builds the library and the program, and an installation of them, without
headers, lies inside the Python package.

A wheel for manylinux (bdist_wheel --plat-name manylinux_...) also holds the libraries that these need. In the environment:
TOFSTREAM_PRESET, the preset that is built (release); TOFSTREAM_JOBS; CMAKE_ARGS, for a build folder that is new."""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent
PRESET = os.environ.get("TOFSTREAM_PRESET", "release")
BUILD = ROOT / "build" / PRESET
SETUPTOOLS = ROOT / "build" / "setuptools"  # its build/lib and *.egg-info would lie in the source tree


def run(*command):
    try:
        subprocess.run([str(word) for word in command], cwd=ROOT, check=True)
    except FileNotFoundError:
        sys.exit(f"setup.py: {command[0]} is not installed; tools/setup.sh lists what tofstream is built with")


def build():
    """The build folder of the preset, up to date."""
    if not (BUILD / "CMakeCache.txt").exists():
        run("cmake", "--preset", PRESET, "-DTOFSTREAM_UNITY=ON", *shlex.split(os.environ.get("CMAKE_ARGS", "")))
    run("cmake", "--build", BUILD, "--parallel", os.environ.get("TOFSTREAM_JOBS", os.cpu_count()),
        "--target", "installed_parts")


def install(prefix, self_contained):
    """Installs what runs into a folder. A wheel has no links, so that the library gets the name that is looked for."""
    for component in ("libraries", "program", "python"):
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", component, "--strip")
    [folder] = {library.parent for library in prefix.rglob("libtofstream.so.0")}
    for link in [path for path in folder.iterdir() if path.is_symlink()]:
        link.resolve().replace(link)
    if self_contained:
        run(ROOT / "cmake/package/third_party.sh", "--guest", folder, prefix / "share/doc/tofstream/licences",
            prefix / "bin/tofstream")


class BuildWithLibrary(build_py):
    def run(self):
        build()
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if not self.editable_mode:  # a package in the source tree finds the build folder
            platform = self.get_finalized_command("bdist_wheel").plat_name
            install(pathlib.Path(self.build_lib).resolve() / "tofstream", platform.startswith("manylinux"))


class WheelOfAnyPython(bdist_wheel):
    """The library is called by ctypes: one wheel serves every Python 3, on one kind of machine."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class OfOneMachine(Distribution):
    """Says that there is compiled code, which setuptools looks for among extension modules alone."""

    def has_ext_modules(self):
        return True


SETUPTOOLS.mkdir(parents=True, exist_ok=True)
setup(
    distclass=OfOneMachine,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelOfAnyPython},
    options={"build": {"build_base": str(SETUPTOOLS)}, "egg_info": {"egg_base": str(SETUPTOOLS)},
             "bdist_wheel": {"bdist_dir": str(SETUPTOOLS / "wheel")}},
)
# SPDX-License-Identifier: Apache-2.0
