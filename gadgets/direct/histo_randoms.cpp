// Randoms for histo-images: see histo_randoms.hpp.
#include "gadgets/direct/histo_randoms.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "gadgets/step/projector_kinds.hpp"
#include "gadgets/step/scanner_lines.hpp"
#include "kernels/direct/histo_sensitivity.hpp"

namespace tofstream {

HistoRandoms::HistoRandoms(const HistoRandomsParams& params) : params_(params) {
  if ((params.from == HistoRandomsFrom::rate) != (params.rate_cps > 0))
    throw std::invalid_argument("randoms: `rate_cps` goes with `from: rate`, and `from: rate` with `rate_cps`");
}

void HistoRandoms::begin(const std::shared_ptr<const Scanner>& scanner) {
  if (are_wanted() && !estimate_) estimate_ = randoms_of(scanner);
}

void HistoRandoms::take_delayeds(const EventBatch& batch, Context& context) {
  const bool are_used = params_.from == HistoRandomsFrom::delayeds;
  context.books().rejected(batch.event_count(), are_used ? "delayed coincidences, which estimate the randoms"
                                                         : "delayed coincidences, not used");
  if (!are_used || batch.count == 0) return;
  if (!batch.scanner) throw std::runtime_error("the delayed coincidences do not say which scanner recorded them");
  begin(batch.scanner);
  estimate_->add(batch);
  delayeds_ += batch.count;
}

void HistoRandoms::note_window(const TofModel& tof) {
  if (!are_wanted()) return;
  if (!(tof.window_mm > 0))
    throw std::runtime_error(
        "randoms: the events do not say how wide their coincidence window is, so nobody knows the randoms' share of "
        "each ToF: leave randoms out");
  constexpr float same = 1e-3f;
  if (window_mm_ == 0) window_mm_ = tof.window_mm;
  if (std::abs(tof.window_mm - window_mm_) > same * window_mm_)
    throw std::runtime_error(
        fmt::format("randoms: events of two coincidence windows came, of {:g} and {:g} mm: histo-images have one",
                    window_mm_, tof.window_mm));
}

std::shared_ptr<const Scanner> HistoRandoms::rates(double seconds) const {
  return params_.from == HistoRandomsFrom::rate ? estimate_->of_rate(params_.rate_cps)
                                                : estimate_->from_delayeds(seconds);
}

Buffer<float> HistoRandoms::lay_down(const HistoPlace& place, double seconds, Context& context) const {
  if (!are_wanted()) return {};
  if (params_.from == HistoRandomsFrom::delayeds && delayeds_ == 0) {
    context.log().warning(
        "no delayed coincidence came, so randoms are not corrected: the recording has none, or the decoder gives only "
        "prompts (its `events: both` gives the delayeds too)");
    return {};
  }
  if (!(seconds > 0)) throw std::runtime_error("randoms: the events state no scan time, so a rate gives no counts");
  const std::shared_ptr<const Scanner> scanner = rates(seconds);
  HistoSensitivity sensitivity(place.grid, place.views, place.lattice);
  const auto& joseph = table_of<ProjectorKind>().at("joseph_projector");
  const auto projector =
      joseph.make(joseph.default_params().get(), sensitivity.lattice_grid(), Backend::cpu, *scanner, context);
  Buffer<float> expected = Buffer<float>::zeros(Memory::host, sensitivity.points());
  // A sensitivity is a density of voxels, and counts belong to points.
  const double counts = seconds / (static_cast<double>(window_mm_) * sensitivity.points_a_voxel());
  std::vector<float> of_lines;
  const auto lay = [&](const EventView& lines, const float* rates, double done) {
    if (context.cancelled()) throw std::runtime_error("the run is being ended: the randoms are not laid down");
    of_lines.resize(static_cast<std::size_t>(lines.count));
    std::transform(rates, rates + lines.count, of_lines.begin(),
                   [counts](float rate) { return static_cast<float>(counts * static_cast<double>(rate)); });
    sensitivity.add(lines, of_lines.data(), *projector, expected.data());
    context.progress(done, 1, "of the randoms");
  };
  lines_of(*scanner).visit(*scanner, sensitivity.box(), {.most_lines = place.most_lines}, lay);
  double sum = 0;
  for (const float count : expected.span()) sum += static_cast<double>(count);
  context.report("randoms_in_views", sum);
  return expected;
}

std::string HistoRandoms::how() const {
  if (params_.from == HistoRandomsFrom::rate) return fmt::format("{:g} cps", params_.rate_cps);
  return delayeds_ > 0 ? "delayed coincidences" : "";
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
