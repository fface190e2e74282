// A digest of the public headers, by which a program knows whether a plug-in shares its types. The file that is installed
// in this one's place says it; in the tree the target of a plug-in does. A gadget that is part of the program needs none.
#pragma once

#ifndef TOFSTREAM_HEADERS
#define TOFSTREAM_HEADERS 0
#endif
// SPDX-License-Identifier: Apache-2.0
