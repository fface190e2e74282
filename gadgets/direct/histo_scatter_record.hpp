// What direct_scatter knows after each update: what came of the views beside the body, and the estimates that it made. See
// terms_record.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "gadgets/step/line_scatter.hpp"
#include "gadgets/step/terms_record.hpp"

namespace tofstream {

/// What came of a view: the sums over its points beside the body.
struct TailOfView {
  std::int64_t view = 0;
  double times = 0, counts = 0, other = 0;
};

/// What was known after an update.
struct RecordedHistoScatter {
  std::vector<TailOfView> tails;
  std::shared_ptr<const LineScatter> scatter;  // null: none yet
  int iteration = 0;                           // that it was made for
  double factor = 1, reference_s = 1;
};

/// What a record says of everything up to an update; `kind` reads its estimates. Throws std::runtime_error where it is
/// damaged before that.
RecordedHistoScatter read_histo_scatter_record(const std::filesystem::path& file, std::int64_t update,
                                               const LineScatterKind& kind);

// Each throws as TermsRecord::append().

void record_histo_tails(TermsRecord& record, std::int64_t update, std::span<const TailOfView> of_update);
void record_histo_scatter(TermsRecord& record, std::int64_t update, const LineScatter& scatter, int iteration,
                          double factor, double reference_s);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
