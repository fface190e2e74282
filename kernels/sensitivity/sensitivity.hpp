// Sensitivity s = A^T(efficiency x attenuation) over all LORs that a scanner can record, ToF summed
// out (PHYSICS 2): exact enumeration when small, stratified sampling of detector pairs when large.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kernels/project/projector.hpp"
#include "kernels/types/image.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

struct SensitivitySettings {
  std::int64_t exact_pairs = 50'000'000;    // enumerate all pairs where there are at most so many
  std::int64_t sampled_pairs = 20'000'000;  // else project so many
  std::uint64_t seed = 1;                   // same seed, same image
  int replicates = 8;                       // parts of the sample whose spread gives the error
  std::int64_t batch_pairs = 1 << 21;       // pairs drawn and projected at a time
  float margin_voxels = 8;                  // LORs farther than this from the image are skipped: at least the
                                            // projector's reach beyond the border, in voxels of the largest edge
};

struct Sensitivity {
  Image image;  // on the host; unit: mm (projector's line integral) x efficiency
  bool exact = true;
  std::int64_t pairs = 0;      // pairs of detectors in coincidence
  std::int64_t projected = 0;  // of them (or of the sample) those that could touch the image
  double relative_error = 0;   // RMS standard error of the voxels / RMS of the voxels; 0 where exact
};

/// Called with the fraction done, in [0, 1]; may throw to end the computation.
using SensitivityProgress = std::function<void(double)>;

/// The sensitivity on the projector's grid by its `back`, all on its backend (and the stream); complete on return.
/// `mu_per_mm`: linear attenuation on any grid (host), whose integrals along each LOR, from detector to detector by
/// Joseph's projector on that grid, attenuate it; null for none. Sampling: the ordered list of all pairs
/// is cut into equal cells and one pair is drawn in each; CPU and CUDA draw the same. The stated error is the spread of
/// replicates (interleaved cells): on the safe side, since the whole sample is finer.
/// Throws std::invalid_argument for settings that are not positive, a scanner whose tables are
/// wrong or that has no pair in coincidence, and a mu map without voxels.
Sensitivity compute_sensitivity(const Scanner& scanner, Projector& projector, const SensitivitySettings& settings = {},
                                const Image* mu_per_mm = nullptr, Stream stream = nullptr,
                                const SensitivityProgress& progress = {});

/// SHA-256 (hexadecimal) of all that the result depends on: the scanner's tables, grid, mu map,
/// settings that matter and `projector_description` (the caller's words for kind and settings).
std::string sensitivity_key(const Scanner& scanner, const Grid& grid, const std::string& projector_description,
                            const SensitivitySettings& settings = {}, const Image* mu_per_mm = nullptr);

}  // namespace tofstream
