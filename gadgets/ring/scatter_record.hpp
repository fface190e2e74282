// What single_scatter knows after each update: the events beside the body that it took note of, and the estimates that it
// made. See terms_record.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "gadgets/step/renewals.hpp"
#include "gadgets/step/terms_record.hpp"
#include "kernels/ring/correct/scatter.hpp"
#include "kernels/ring/scatter/scatter_tails.hpp"
#include "kernels/types/image.hpp"

namespace tofstream {

/// When the scatter of a live stream is made anew, and of what one is being made.
struct RecordedRenewal {
  Renewals::Times times;
  std::int64_t of_update = 0;          // that met the image
  std::shared_ptr<const Image> image;  // on the host; null: none is being made
  double reference_s = 1;              // whose decays the image counts
  ScatterTails::Noted tails;           // what was noted when it was begun, without the scanner
};

/// What was known after an update.
struct RecordedScatter {
  bool has_tails = false;
  ScatterTails::Noted tails;                  // without the scanner
  std::shared_ptr<ScatterEstimate> estimate;  // as it was given to the events, bit for bit; null: none yet
  int iteration = 0;                          // that it was made for
  std::int64_t from_update = 0;               // from which on it was given to them
  double reference_s = 1;
  std::optional<RecordedRenewal> renewal;  // of a live stream
  std::int64_t shortened_to = 0;           // estimates of updates before this one are not kept
  bool is_behind = false;                  // what came with the update of a live stream was not noted yet
};

/// What a record says of everything up to an update. Throws std::runtime_error where it is damaged before that.
RecordedScatter read_scatter_record(const std::filesystem::path& file, std::int64_t update);

// Each throws as TermsRecord::append().

/// What came with an update: the events that are noted beyond the first `seen_before` that were seen.
void record_tails(TermsRecord& record, std::int64_t update, const ScatterTails::Noted& tails,
                  std::uint64_t seen_before);
void record_scatter(TermsRecord& record, std::int64_t update, const ScatterEstimate& estimate, int iteration,
                    double reference_s);
/// `renewal`: without what was noted, which is that of the record.
void record_renewal(TermsRecord& record, std::int64_t update, const RecordedRenewal& renewal);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
