// The randoms that histo-images hold: b_v of h = w m K x + b. The expected randoms of each line are uniform over ToF, so
// they are spread evenly along the line, and the part within a view's lattice is laid down there as m_v is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/gadget.hpp"
#include "core/value/params.hpp"
#include "gadgets/direct/histo_place.hpp"
#include "gadgets/step/line_randoms.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/types/events.hpp"

namespace tofstream {

enum class HistoRandomsFrom { none, delayeds, rate };
constexpr auto enum_names(HistoRandomsFrom) {
  return names(HistoRandomsFrom::none, "none", HistoRandomsFrom::delayeds, "delayeds", HistoRandomsFrom::rate, "rate");
}

/// `randoms: {from: delayeds}`
struct HistoRandomsParams {
  HistoRandomsFrom from = HistoRandomsFrom::none;
  double rate_cps = 0;
  static constexpr auto params = describe(
      param<&HistoRandomsParams::from>("from",
                                       "delayeds: a fit to the delayed coincidences among the events; rate: `rate_cps` "
                                       "in total, shared out by the crystals' efficiencies"),
      param<&HistoRandomsParams::rate_cps>("rate_cps", range(0, 1e12), unit("1/s"), "The rate of all lines together"));
};

class HistoRandoms {
 public:
  /// Throws std::invalid_argument where `rate_cps` and `from` do not go together.
  explicit HistoRandoms(const HistoRandomsParams& params);

  bool are_wanted() const { return params_.from != HistoRandomsFrom::none; }
  /// The scanner of the prompts. Throws std::runtime_error where nobody knows its lines' randoms.
  void begin(const std::shared_ptr<const Scanner>& scanner);
  /// Delayed coincidences, which may come before the first prompts; the books get them.
  void take_delayeds(const EventBatch& batch, Context& context);
  /// Notes how far ToF reaches. Throws std::runtime_error for events that do not say it, or say another one.
  void note_window(const TofModel& tof);
  /// The expected randoms of `seconds` at all views' points, [view][k][j][i]; empty where there are none to lay down.
  Buffer<float> lay_down(const HistoPlace& place, double seconds, Context& context) const;
  /// How they were estimated, for the image's record; empty where they were not.
  std::string how() const;

 private:
  std::shared_ptr<const Scanner> rates(double seconds) const;

  HistoRandomsParams params_;
  std::unique_ptr<LineRandoms> estimate_;
  std::int64_t delayeds_ = 0;
  float window_mm_ = 0;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
