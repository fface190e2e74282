# Language level, warnings, sanitizers, ccache and where everything is put; one function that makes a library of a folder.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
# A program finds its libraries beside itself, so the installed folder can be moved anywhere. So it is in the build
# folder: CMake would pad a path that is to be changed at the installation with empty elements, and an empty element
# means the current folder, from which the program would load libraries before it looks in the system's.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" "$ORIGIN/../lib" "$ORIGIN")
list(REMOVE_DUPLICATES CMAKE_INSTALL_RPATH)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(TOFSTREAM_CCACHE ccache)
if(TOFSTREAM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TOFSTREAM_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${TOFSTREAM_CCACHE})
endif()

option(TOFSTREAM_UNITY "Compile many sources as one: all is built sooner, one changed file later" OFF)
set(tofstream_unity_sources 24)
add_library(tofstream_options INTERFACE)
target_compile_options(tofstream_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers -Werror>)
# Sources that are joined see each other's names, and GCC takes their unnamed namespaces for a header's.
if(TOFSTREAM_UNITY)
  target_compile_options(tofstream_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
else()
  target_compile_options(tofstream_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wshadow>)
endif()
target_include_directories(tofstream_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)

# A library calls its own functions: not those of the same header that a program compiled with less optimisation, or without
# a sanitizer.
add_link_options(LINKER:-Bsymbolic-functions)

# The program parses files and messages of strangers. What calls of libraries go through cannot be written over: it is
# filled at the start, then closed. A stack that was written over ends the program, as does a copy beyond its array, and
# on processors that can a jump to where none may lead. Sanitizers look closer.
if(NOT TOFSTREAM_SANITIZE)
  add_link_options(LINKER:-z,relro,-z,now)
  set(hardening -fstack-protector-strong)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-fcf-protection TOFSTREAM_HAVE_CF_PROTECTION)
  if(TOFSTREAM_HAVE_CF_PROTECTION)
    list(APPEND hardening -fcf-protection)
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${hardening}>"
                      "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()

if(TOFSTREAM_SANITIZE)
  # Clang has no macros that say it.
  foreach(sanitizer address thread)
    if(TOFSTREAM_SANITIZE MATCHES ${sanitizer})
      string(TOUPPER TOFSTREAM_SANITIZE_${sanitizer} macro)
      add_compile_definitions(${macro})
    endif()
  endforeach()
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TOFSTREAM_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>
                      # AddressSanitizer sees null pointers and ends of objects; twice, kernels compile a fifth longer.
                      $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=null,object-size>
                      # GCC's false alarms in instrumented code:
                      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>
                      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds>
                      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
                      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow>)
  add_link_options(-fsanitize=${TOFSTREAM_SANITIZE})
endif()

set(TOFSTREAM_TESTS_OF "" CACHE PATH "A build folder whose compiled tests are linked with this build's libraries")
if(TOFSTREAM_TESTS_OF AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${PROJECT_SOURCE_DIR}/tests/support/json_as_gcc.hpp>")
endif()

# tofstream_precompile(TARGET [HEADER]): nearly half of a small source's compilation is the headers that nearly all include.
function(tofstream_precompile target)
  set(header cmake/precompiled.hpp)
  if(ARGC GREATER 1)
    set(header ${ARGV1})
  endif()
  target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/${header}>)
endfunction()

# tofstream_family(SOURCE RESULT): the family whose folder SOURCE lies in, which has one of its name on each floor, or 'others'.
function(tofstream_family source result)
  string(REGEX MATCH "/(kernels|gadgets|tests/[a-z]+)/([a-z_]+)/" found ${source})
  set(folder "${CMAKE_MATCH_2}")
  set(${result} others PARENT_SCOPE)
  if(found AND IS_DIRECTORY ${PROJECT_SOURCE_DIR}/kernels/${folder} AND IS_DIRECTORY ${PROJECT_SOURCE_DIR}/gadgets/${folder})
    set(${result} ${folder} PARENT_SCOPE)
  endif()
endfunction()

# tofstream_unity(TARGET [FILE...]): where TOFSTREAM_UNITY is on, up to ${tofstream_unity_sources} sources are compiled as one, as most of a
# source's compilation is its headers. FILEs are compiled alone, and so is every source that has flags of its own. A name at
# namespace scope, also of an unnamed namespace, must then be the target's only one. A family's sources are not joined with
# others: a new family leaves the compilations of all else as they are.
function(tofstream_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TOFSTREAM_UNITY} UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cpp$")
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  foreach(source IN LISTS sources)
    if(source IN_LIST ARGN)
      continue()
    endif()
    tofstream_family(${source} family)
    math(EXPR number_${family} "${number_${family}}+1")
    math(EXPR group "(${number_${family}}-1)/${tofstream_unity_sources}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${family}_${group})
  endforeach()
endfunction()

# tofstream_joined_cuda(RESULT SOURCE...): what is compiled in place of the CUDA SOURCEs where it is only to be seen that they
# compile: a source for each family that includes its own. CMake joins no CUDA before 3.31. Flags of single sources, which
# say how to round, have no effect.
function(tofstream_joined_cuda result)
  set(joined)
  foreach(source IN LISTS ARGN)
    tofstream_family(${source} family)
    string(APPEND text_${family} "#include \"${source}\"\n")
    list(APPEND families ${family})
  endforeach()
  list(REMOVE_DUPLICATES families)
  foreach(family IN LISTS families)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/joined_${family}.cu)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text_${family}}")
    list(APPEND joined ${file})
  endforeach()
  set(${result} ${joined} PARENT_SCOPE)
endfunction()

# tofstream_quick(TARGET [LEVEL]): code that waits for people and sockets (-O1, the default), or for the kernels and the
# disk (-O2). Most loops over data lie in the kernels; elsewhere -O3 takes longer and gains nothing that was measured. What
# decodes gains from SIMD alone, which GCC's -O2 uses little of by itself.
function(tofstream_quick target)
  set(level -O1)
  if(ARGC GREATER 1)
    set(level ${ARGV1} $<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>)
  endif()
  if(NOT TOFSTREAM_SANITIZE)
    target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:${level}>"
                           # GCC 12's false alarms there:
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
                           $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  endif()
endfunction()

# tofstream_library(NAME DEPENDENCY...): the shared library tofstream_NAME of every source below the calling folder.
function(tofstream_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(TOFSTREAM_HAVE_CUDA)
    file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu)
    if(TOFSTREAM_UNITY AND TOFSTREAM_CUDA_COMPILE_ONLY AND cuda_sources)
      tofstream_joined_cuda(cuda_sources ${cuda_sources})
    endif()
  endif()
  add_library(tofstream_${name} SHARED ${sources} ${cuda_sources})
  target_link_libraries(tofstream_${name} PRIVATE $<BUILD_INTERFACE:tofstream_options>)
  tofstream_export(${name} ${ARGN})
endfunction()

# tofstream_export(NAME DEPENDENCY...): installs tofstream_NAME and makes it tofstream::NAME of the CMake package. No public
# header includes one of the foreign dependencies, so who builds against the package need not have them.
function(tofstream_export name)
  foreach(dependency IN LISTS ARGN)
    if(dependency MATCHES "^tofstream_")
      target_link_libraries(tofstream_${name} PUBLIC ${dependency})
    else()
      target_link_libraries(tofstream_${name} PUBLIC $<BUILD_INTERFACE:${dependency}>)
    endif()
  endforeach()
  target_compile_features(tofstream_${name} INTERFACE cxx_std_20)
  target_include_directories(tofstream_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  set_target_properties(tofstream_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS tofstream_${name} EXPORT tofstreamTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libraries
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_INCLUDEDIR}/tofstream)
endfunction()
# SPDX-License-Identifier: Apache-2.0
