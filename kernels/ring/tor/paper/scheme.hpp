// The steps of Cui et al.'s own GPU scheme (II.B.1-11), each of which can be switched off, so that what it brings can
// be measured (its fig. 5), and its launch (fig. 6).
#pragma once

#include <cstdint>

namespace tofstream {

struct PaperScheme {
  bool structure_of_arrays = true;  // II.B.1; off: an array of structures
  bool staged_slices = true;        // II.B.2: slices in shared memory; off: voxels in global memory, line by line
  bool partition = true;            // II.B.3: by predominant direction; off: blocks go through the slices of all three
  bool fixed_bounds = true;         // II.B.3: one window for all lines; off: each line's own rectangle
  bool texture = true;              // II.B.4: f(r) by a texture; off: computed, or from a table in global memory
  bool hardware_atomics = true;     // II.B.6; off: compare-and-swap loops
  bool sort = true;                 // II.B.7: by ToF centre along the predominant direction; needs the partition
  bool skip_slices = true;          // II.B.7: those that no line of a block meets; off: every slice is loaded
  bool update_on_device = true;     // II.B.8; off: images go to the host and back
  bool fast_math = true;            // II.B.9: nvcc's --use_fast_math
  bool unrolled = true;             // II.B.10: the loop over a window's columns, as far as the compiler likes
  int blocks = 0;                   // of the grid; 0: one for each multiprocessor
  int threads = 1024;               // of a block
  std::int64_t shared_bytes = 0;    // for a slice or its tile; 0: all that a block can have
};

/// Throws std::invalid_argument unless threads is a multiple of 32 in [32, 1024], blocks and shared_bytes are not
/// negative, and a sort comes with the partition.
void validate(const PaperScheme& scheme);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
