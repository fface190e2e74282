# What Debian wants of a package beyond what is installed: each has its copyright; Python finds its package; the licences
# of what is compiled in lie beside the libraries.
set(root ${CPACK_TEMPORARY_DIRECTORY})
set(debian ${CPACK_TOFSTREAM_SOURCE}/share/packaging/debian)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(folder ${root}/${component}/usr/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${folder})
  file(COPY_FILE ${debian}/copyright ${folder}/copyright)
endforeach()
file(MAKE_DIRECTORY ${root}/python/usr/lib/python3/dist-packages)
file(CREATE_LINK ../../../share/tofstream/python/tofstream ${root}/python/usr/lib/python3/dist-packages/tofstream SYMBOLIC)
execute_process(
  COMMAND ${CPACK_TOFSTREAM_SOURCE}/cmake/package/third_party.sh --headers
          ${root}/libraries/usr/${CPACK_TOFSTREAM_LIBDIR} ${root}/libraries/usr/share/doc/libtofstream0/licences
  COMMAND_ERROR_IS_FATAL ANY)
# SPDX-License-Identifier: Apache-2.0
