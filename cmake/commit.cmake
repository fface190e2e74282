# cmake -D source=FOLDER -D output=FILE -P commit.cmake: a header with the commit that is checked out, written anew only
# when it is another.
execute_process(COMMAND git -C ${source} describe --always --dirty OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET)
file(CONFIGURE OUTPUT ${output} CONTENT "#define TOFSTREAM_COMMIT \"${commit}\"\n")
# SPDX-License-Identifier: Apache-2.0
