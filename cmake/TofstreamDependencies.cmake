# The libraries that tofstream stands on; tools/setup.sh installs them on Debian.
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Boost REQUIRED)
find_package(HWY REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
find_path(KISSFFT_INCLUDE_DIR kissfft/kissfft.hh REQUIRED)
find_path(NIFTI_INCLUDE_DIR nifti1_io.h PATH_SUFFIXES nifti REQUIRED)
find_library(NIFTI_LIBRARY niftiio REQUIRED)
find_library(ZNZ_LIBRARY znz REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ELF REQUIRED IMPORTED_TARGET libelf)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(CAIRO REQUIRED IMPORTED_TARGET cairo)
pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq)
# Its flags name headers of what it is made with, which CMake 3.25 orders otherwise in a second configuration than in the
# first: all that uses it would be built again.
set_target_properties(PkgConfig::ZMQ PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${ZMQ_INCLUDEDIR}"
                                                INTERFACE_COMPILE_OPTIONS "")
# SPDX-License-Identifier: Apache-2.0
