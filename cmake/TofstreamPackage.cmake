# What `cmake --install` adds for authors of plug-ins: the public headers, which are the few below and what they include,
# and the CMake package that find_package(tofstream) finds.
include(CMakePackageConfigHelpers)

# tofstream_header_closure(OUT HEADER...): the headers and every header of the tree that they include, relative to it.
function(tofstream_header_closure out)
  set(open ${ARGN})
  set(seen)
  while(open)
    list(POP_FRONT open header)
    if(header IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${header})
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} includes REGEX "^#include \"")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
      list(APPEND open ${included})
    endforeach()
  endwhile()
  set(${out} ${seen} PARENT_SCOPE)
endfunction()

tofstream_header_closure(headers core/gadget.hpp core/testing.hpp core/run/run_control.hpp gadgets/payloads.hpp gadgets/views.hpp gadgets/penalty.hpp gadgets/parameters.hpp
  kernels/sort/select.hpp kernels/cuda/check.hpp
  # What a family of scanners registers, and what it reads:
  gadgets/io/scanner_kinds.hpp gadgets/io/wire/record_kinds.hpp gadgets/io/wire/record_arrays.hpp gadgets/stream_ends.hpp
  gadgets/io/wire/payload_kinds.hpp gadgets/wire/stream_content.hpp gadgets/wire/stream_file.hpp
  gadgets/io/petsird/quantity.hpp gadgets/io/shared_files.hpp gadgets/io/yaml/phantom_yaml.hpp core/value/document.hpp)

# A plug-in shares types with the program if both are of the same headers. The digest goes into the one header that is
# not installed as it is, and to what is built in the tree: the program's own reader of plug-ins, and plug-ins.
set(texts)
foreach(header IN LISTS headers)
  file(SHA256 ${PROJECT_SOURCE_DIR}/${header} text)
  string(APPEND texts "${header} ${text}\n")
endforeach()
string(SHA256 digest "${texts}")
string(SUBSTRING ${digest} 0 16 digest)
set(digest_header core/plugin/headers.hpp)
list(REMOVE_ITEM headers ${digest_header})
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/installed/${digest_header} CONTENT "#pragma once\n#define TOFSTREAM_HEADERS 0x${digest}u\n")
get_filename_component(folder ${digest_header} DIRECTORY)
install(FILES ${CMAKE_BINARY_DIR}/installed/${digest_header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tofstream/${folder}
        COMPONENT development)
set(TOFSTREAM_HEADERS TOFSTREAM_HEADERS=0x${digest}u)
set_property(SOURCE ${PROJECT_SOURCE_DIR}/core/plugin/plugin_file.cpp DIRECTORY ${PROJECT_SOURCE_DIR}/core
             APPEND PROPERTY COMPILE_DEFINITIONS ${TOFSTREAM_HEADERS})
set_source_files_properties(${PROJECT_SOURCE_DIR}/core/plugin/plugin_file.cpp DIRECTORY ${PROJECT_SOURCE_DIR}/core
                            PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

foreach(header IN LISTS headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tofstream/${folder}
          COMPONENT development)
endforeach()
install(FILES ${CMAKE_CURRENT_LIST_DIR}/package/gadget.hpp ${CMAKE_CURRENT_LIST_DIR}/package/testing.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tofstream COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tofstream)
set(plugin_dir ${CMAKE_INSTALL_LIBDIR}/tofstream/plugins)
install(EXPORT tofstreamTargets NAMESPACE tofstream:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/package/tofstreamConfig.cmake.in
  ${CMAKE_BINARY_DIR}/tofstreamConfig.cmake INSTALL_DESTINATION ${package_dir} PATH_VARS plugin_dir)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tofstreamConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tofstreamConfig.cmake ${CMAKE_BINARY_DIR}/tofstreamConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)

# What an installation holds and a build makes, without tests and benchmarks.
add_custom_target(installed_parts DEPENDS tofstream tofstream_c written_by_tofstream)
foreach(part viewer tofstream_mex)  # where Node.js, or Octave's compiler, is
  if(TARGET ${part})
    add_dependencies(installed_parts ${part})
  endif()
endforeach()
# SPDX-License-Identifier: Apache-2.0
