# What `cpack` makes in the build folder of what `cmake --install` installs: `cpack -G DEB` four Debian packages, five where
# there is MPI, which depend on the packages of the libraries that they are linked with; `cpack -G TGZ` an archive that
# holds these libraries and runs where it is unpacked. share/doc/packages.md describes them; tools/package makes them from the source tree.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_CONTACT "the authors of tofstream")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Live and offline reconstruction of PET list mode and SPECT views")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program libraries development python)
if(TARGET tofstream_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_PACKAGE_FILE_NAME tofstream-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")

# All packages are of one build: a plug-in's header, the libraries and Python's package must be of one release.
set(same_build "(= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_NAME libtofstream0)
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_RECOMMENDS "tofstream ${same_build}")  # scanners, phantoms and pipelines
set(CPACK_COMPONENT_LIBRARIES_DESCRIPTION "The shared libraries of tofstream, with its C interface.")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tofstream)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libtofstream0 ${same_build}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "python3-tofstream ${same_build}, fonts-dejavu-core")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libtofstream-dev ${same_build}, graphviz")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "The program, its pipelines, scanners, phantoms, live page and documents.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtofstream-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtofstream0 ${same_build}, tofstream ${same_build}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "The C interface's header, and headers and CMake package for plug-ins.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-tofstream)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "libtofstream0 ${same_build}, tofstream ${same_build}, python3 (>= 3.9), python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS python3-zmq)  # for Python gadgets
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/share/packaging/debian/postinst
                                              ${PROJECT_SOURCE_DIR}/share/packaging/debian/prerm)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Projectors and pipelines in Python, and the package that Python gadgets use.")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME tofstream-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "libtofstream0 ${same_build}")
set(CPACK_COMPONENT_MPI_DESCRIPTION "What lets processes of tofstream exchange images by MPI.")

# What an installation does not have and a package must: cmake/package/cpack_*.cmake.
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/package/cpack_generator.cmake)
set(CPACK_TOFSTREAM_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_TOFSTREAM_LIBDIR ${CMAKE_INSTALL_LIBDIR})
include(CPack)
# SPDX-License-Identifier: Apache-2.0
