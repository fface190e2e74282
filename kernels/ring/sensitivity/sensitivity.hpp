// Sensitivity s = A^T(efficiency x attenuation) over all LORs that a scanner can record, ToF summed out
// (conventions.md, list-mode EM): exact enumeration when small, else a lattice of detector pairs, or stratified
// samples of them until an error is reached.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kernels/project/projector_ranks.hpp"
#include "kernels/ring/correct/attenuation.hpp"
#include "kernels/ring/sensitivity/sample_bias.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

struct SensitivitySettings {
  // Enumerate all pairs where there are at most so many; of up to 61 times as many a lattice of about so many pairs.
  std::int64_t exact_pairs = 50'000'000;
  double error = 0.02;                         // else, or beyond it, draw pairs until the relative error is so small
  std::int64_t sampled_pairs = 1'000'000'000;  // or so many are drawn
  bool symmetric = true;                       // average a sample over the symmetries of scanner and grid
  std::uint64_t seed = 1;                      // same seed, same image
  std::int64_t replicate_pairs = 1 << 19;      // of each part of the sample; their spread gives the error
  std::int64_t batch_pairs = 1 << 21;          // pairs drawn and projected at a time
  std::int64_t pairs_a_voxel = 0;  // batches of about so many are projected into one float sum; 0: a sum for each
};

/// The settings that suit a backend: on a GPU forty times as many exact pairs and an error of 0.005, since they cost
/// little there, larger parts and batches, and sums of more batches, whose adding up by ranks would take as long as a
/// batch.
SensitivitySettings default_sensitivity(Backend backend);

struct Sensitivity {
  Image image;  // on the host; unit: mm (projector's line integral) x efficiency
  bool exact = true;
  bool is_lattice = false;     // of pairs, and not drawn ones
  std::int64_t pairs = 0;      // pairs of detectors in coincidence
  std::int64_t drawn = 0;      // all of them, the lattice, or the sample
  std::int64_t projected = 0;  // of these, those that could touch the image
  double relative_error = 0;   // RMS standard error of the voxels / RMS of the voxels; 0 where exact
  int symmetries = 1;          // that a sample was averaged over
  double random_lines = 0;     // drawn at random that would cover the image as evenly; 0 where exact
  SampleNoise noise;           // of a sample: what EM must know of it
};

/// Called with the fraction done, in [0, 1]; may throw to end the computation.
using SensitivityProgress = std::function<void(double)>;

/// The sensitivity on the projector's grid by its `back`, all on its backend (and the stream); complete on return.
/// `mu`: maps whose integrals along each LOR, from detector to detector by Joseph's projector on a map's own grid,
/// attenuate it. A lattice of pairs (pair_sample.hpp) has two halves, each of which fills the other's gaps: its error
/// is a share of half of their difference, as pair_lattice.hpp finds it. Where that is larger than the error asked
/// for, or there are too many pairs for a lattice, pairs are drawn at random: the ordered list of all pairs is cut
/// into equal cells, and a replicate draws one pair in each of many cells spread over the list; CPU and CUDA draw the
/// same. At least eight replicates are drawn, and more until their spread gives the wanted error or no more may be
/// drawn: `relative_error` says what was reached. Without attenuation halves and replicates are averaged over the
/// symmetries of scanner and grid. `image` of a sample is the mean of seven replicates in eight, and `noise` has the
/// rest. Throws std::invalid_argument for settings that are not positive, a scanner whose tables are wrong or that has
/// no pair in coincidence, and a mu map without voxels. The sensitivity of a scanner with recorded `lines` is the
/// exact sum over these. With `poses` it is the mean over these, each with its share; the object's mu map moves with
/// it, that of hardware does not. Ranks share the sums of pairs' or lines' batches, which are added in their order: their
/// number changes no bit where a projector gives a batch's sum always alike.
Sensitivity compute_sensitivity(const Scanner& scanner, const ProjectorRanks& projectors,
                                const SensitivitySettings& settings = {}, MuMaps mu = {}, Stream stream = nullptr,
                                const SensitivityProgress& progress = {});

/// SHA-256 (hexadecimal) of all that the result depends on: the scanner's tables, grid, mu maps,
/// settings that matter and `projector_description` (the caller's words for kind and settings).
std::string sensitivity_key(const Scanner& scanner, const Grid& grid, const std::string& projector_description,
                            const SensitivitySettings& settings = {}, MuMaps mu = {});

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
