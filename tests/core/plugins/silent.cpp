// A shared object that has nothing to do with tofstream.
extern "C" int nothing_to_do_with_it() {
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
