# Bundles the live page: cmake -DNPM= -DNODE= -DSOURCE=share/viewer -DWORK=FOLDER -DOUTPUT=FOLDER -P BuildViewer.cmake
# What fails leaves the page out and says so in one line; the next build tries again.
file(MAKE_DIRECTORY ${WORK})
file(REMOVE_RECURSE ${OUTPUT})
file(SHA256 ${SOURCE}/package-lock.json wanted)
set(installed "")
if(EXISTS ${WORK}/installed)
  file(READ ${WORK}/installed installed)
endif()
if(NOT installed STREQUAL wanted)
  file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json ${SOURCE}/.npmrc DESTINATION ${WORK})
  execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1 --fetch-timeout=20000
    WORKING_DIRECTORY ${WORK} RESULT_VARIABLE failed OUTPUT_FILE ${WORK}/npm.log ERROR_FILE ${WORK}/npm.log)
  if(failed)
    message(STATUS "tofstream: the live page is left out: npm could not install what it needs (${WORK}/npm.log)")
    return()
  endif()
  file(WRITE ${WORK}/installed ${wanted})
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${WORK}/node_modules ${NODE} ${SOURCE}/build.js ${OUTPUT}
  RESULT_VARIABLE failed OUTPUT_FILE ${WORK}/build.log ERROR_FILE ${WORK}/build.log)
if(failed)
  file(REMOVE_RECURSE ${OUTPUT})
  message(FATAL_ERROR "the live page does not bundle: see ${WORK}/build.log")
endif()
# SPDX-License-Identifier: Apache-2.0
