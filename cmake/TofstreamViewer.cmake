# The live page that web_monitor serves: bundled by npm into share/tofstream/viewer of the build folder, where the program
# finds it. Without npm, or where its registry cannot be reached, the page is left out and nothing else.
find_program(TOFSTREAM_NPM npm)
find_program(TOFSTREAM_NODE NAMES node nodejs)
set(viewer_output ${CMAKE_BINARY_DIR}/share/tofstream/viewer)
if(TOFSTREAM_NPM AND TOFSTREAM_NODE)
  file(GLOB viewer_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/share/viewer/src/*)
  set(viewer_package ${PROJECT_SOURCE_DIR}/share/viewer/package.json ${PROJECT_SOURCE_DIR}/share/viewer/package-lock.json)
  add_custom_command(OUTPUT ${viewer_output}/index.html
    COMMAND ${CMAKE_COMMAND} -DNPM=${TOFSTREAM_NPM} -DNODE=${TOFSTREAM_NODE} -DSOURCE=${PROJECT_SOURCE_DIR}/share/viewer
            -DWORK=${CMAKE_BINARY_DIR}/viewer -DOUTPUT=${viewer_output} -P ${CMAKE_CURRENT_LIST_DIR}/BuildViewer.cmake
    DEPENDS ${viewer_sources} ${viewer_package} ${PROJECT_SOURCE_DIR}/share/viewer/build.js
            ${CMAKE_CURRENT_LIST_DIR}/BuildViewer.cmake
    COMMENT "Bundling the live page" VERBATIM)
  add_custom_target(viewer ALL DEPENDS ${viewer_output}/index.html)
  message(STATUS "tofstream: live page ON")
else()
  message(STATUS "tofstream: live page OFF, as there is no npm here")
endif()
install(DIRECTORY ${viewer_output} DESTINATION ${CMAKE_INSTALL_DATADIR}/tofstream OPTIONAL)
# SPDX-License-Identifier: Apache-2.0
