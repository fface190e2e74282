# Puts the libraries that tofstream stands on, and their licences, into the folder that becomes the archive.
set(prefix ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
execute_process(
  COMMAND ${CPACK_TOFSTREAM_SOURCE}/cmake/package/third_party.sh ${prefix}/${CPACK_TOFSTREAM_LIBDIR}
          ${prefix}/share/doc/tofstream/licences ${prefix}/bin/tofstream
  COMMAND_ERROR_IS_FATAL ANY)
# SPDX-License-Identifier: Apache-2.0
