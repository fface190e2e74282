// What single_scatter knows after each update: the events beside the body that it took note of, and the estimates that it
// made. See terms_record.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "gadgets/step/terms_record.hpp"
#include "kernels/ring/correct/scatter.hpp"
#include "kernels/ring/scatter/scatter_tails.hpp"

namespace tofstream {

/// What was known after an update.
struct RecordedScatter {
  bool has_tails = false;
  ScatterTails::Noted tails;                  // without the scanner
  std::shared_ptr<ScatterEstimate> estimate;  // as it was given to the events, bit for bit; null: none yet
  int iteration = 0;                          // that it was made for
  double reference_s = 1;
};

/// What a record says of everything up to an update. Throws std::runtime_error where it is damaged before that.
RecordedScatter read_scatter_record(const std::filesystem::path& file, std::int64_t update);

// Each throws as TermsRecord::append().

/// What came with an update: the events that are noted beyond the first `seen_before` that were seen.
void record_tails(TermsRecord& record, std::int64_t update, const ScatterTails::Noted& tails,
                  std::uint64_t seen_before);
void record_scatter(TermsRecord& record, std::int64_t update, const ScatterEstimate& estimate, int iteration,
                    double reference_s);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
