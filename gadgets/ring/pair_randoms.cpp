// Randoms of scanners with a table of detectors: a product of one factor a detector, as event_corrections has them.
#include <memory>
#include <utility>

#include "gadgets/step/line_randoms.hpp"
#include "kernels/ring/correct/normalisation.hpp"
#include "kernels/ring/correct/randoms.hpp"

namespace tofstream {
namespace {

class PairRandoms final : public LineRandoms {
 public:
  explicit PairRandoms(std::shared_ptr<const Scanner> scanner) : scanner_(std::move(scanner)), counts_(*scanner_) {}

  void add(const EventBatch& delayeds) override { counts_.add(delayeds); }
  std::shared_ptr<const Scanner> from_delayeds(double seconds) const override {
    return with_rates(randoms_from_delayeds(*scanner_, counts_, seconds));
  }
  std::shared_ptr<const Scanner> of_rate(double total_cps) const override {
    return with_rates(randoms_of_rate(*scanner_, total_cps));
  }

 private:
  std::shared_ptr<const Scanner> with_rates(const RandomsModel& model) const {
    return with_normalisation(*without_normalisation(*scanner_), {.crystal_efficiency = model.factor});
  }

  std::shared_ptr<const Scanner> scanner_;
  DelayedCounts counts_;
};

bool has_detectors(const Scanner& scanner) {
  return scanner.detectors && !scanner.types.empty();
}

std::unique_ptr<LineRandoms> make_pair_randoms(std::shared_ptr<const Scanner> scanner) {
  return std::make_unique<PairRandoms>(std::move(scanner));
}

TOFSTREAM_KIND(LineRandomsKind,
               LineRandomsKind{.name = "pairs of detectors", .knows = has_detectors, .make = make_pair_randoms});

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
