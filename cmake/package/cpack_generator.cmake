# Read by cpack for each kind of package: names the script that completes what was installed for it.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PRE_BUILD_SCRIPTS ${CPACK_TOFSTREAM_SOURCE}/cmake/package/cpack_debian.cmake)
elseif(CPACK_GENERATOR STREQUAL "TGZ")
  set(CPACK_PRE_BUILD_SCRIPTS ${CPACK_TOFSTREAM_SOURCE}/cmake/package/cpack_archive.cmake)
endif()
# SPDX-License-Identifier: Apache-2.0
