// Gives views the terms that EM needs besides attenuation: expected scatter, decay and dead time.
#include "gadgets/spect/view_corrections.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/spect/scatter_estimate.hpp"
#include "gadgets/subset/view_intake.hpp"
#include "gadgets/views.hpp"
#include "kernels/correct/decay.hpp"
#include "kernels/correct/isotopes.hpp"

namespace tofstream {
namespace {

struct ViewCorrections {
  using Params = ViewCorrectionsParams;
  static constexpr auto params = Params::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    const bool has_scatter = p.scatter.from != ViewScatterFrom::none;
    return {.message_bytes = has_scatter ? memory_product(2, inputs[0]) : inputs[0],
            .note = "the views of other energy windows until the photopeak's have come, or the file of scatter whole"};
  }

  explicit ViewCorrections(const Params& p) : p_(p), half_life_s_(half_life(p.decay)) {
    if ((p.scatter.from == ViewScatterFrom::file) == p.scatter.file.empty())
      throw std::invalid_argument("scatter: `file` goes with `from: file`, and `from: file` with `file`");
    if (p.scatter.from != ViewScatterFrom::windows && (p.scatter.factor || p.scatter.lower_keV || p.scatter.upper_keV))
      throw std::invalid_argument("scatter: factor, lower_keV and upper_keV go with `from: windows`");
    if (p.scatter.from == ViewScatterFrom::windows) windows_.emplace(p.scatter);
    if (p.scatter.from == ViewScatterFrom::file) file_.emplace(p.scatter);
  }

  void process(std::shared_ptr<const ViewBatch> views, Emit<ViewBatch>& emit) {
    if (views->window != 0 && !windows_) return emit(std::move(views));
    const bool has_scatter = windows_ || file_;
    if (!has_scatter && half_life_s_ == 0 && p_.dead_time.tau_s == 0 && !p_.uniform) return emit(std::move(views));
    if (windows_) windows_->prepare(*views->set);
    if (views->records.empty()) return emit(announced(*views));
    ViewBatch here = views->to(Memory::host);
    synchronize(nullptr);
    if (!has_scatter) return emit(corrected(std::move(here)));
    if (here.counts.empty()) throw std::runtime_error("views without counts came: take them from a source of views");
    for (ViewBatch& view : single_views(here)) {
      if (file_) {
        Buffer<float> scatter = file_->of(view);
        emit(with_scatter({std::move(view), std::move(scatter)}));
        continue;
      }
      for (ViewWithScatter& complete : windows_->take(std::move(view))) emit(with_scatter(std::move(complete)));
    }
  }

  void flush(Context& context) {
    if (windows_) leave_out_what_waits(context);
    if (half_life_s_ > 0) context.report("half_life_s", half_life_s_);
    if (p_.dead_time.tau_s > 0) context.report("least_live_fraction", least_live_);
    if (!windows_ && !file_) return;
    context.report("scatter", scatter_words());
    context.report("scatter_counts", scatter_counts_);
    if (counts_ > 0) look_at_scatter(scatter_counts_ / counts_, context);
  }

 private:
  static double half_life(const ViewDecayParams& p) {
    if (!p.isotope.empty() && p.half_life_s > 0)
      throw std::invalid_argument("decay: give isotope or half_life_s, not both");
    return p.isotope.empty() ? p.half_life_s : half_life_s(p.isotope, Emission::single_photons);
  }

  ViewBatch announced(const ViewBatch& views) {
    ViewBatch batch = views.without_arrays();
    batch.quantity = quantity_after(batch.quantity);
    return batch;
  }

  ViewBatch with_scatter(ViewWithScatter complete) {
    ViewBatch view = corrected(std::move(complete.view));
    if (p_.scatter.smooth_fwhm_mm > 0) smoothing_of(*view.set).apply(complete.scatter.span());
    double sum = 0;
    for (const float b : complete.scatter.span()) sum += static_cast<double>(b);
    scatter_counts_ += sum;
    counts_ += static_cast<double>(view.event_count());
    if (view.additive.empty()) {
      view.additive = std::move(complete.scatter);
    } else {
      const auto there = view.additive.span();
      for (std::size_t i = 0; i < there.size(); ++i) there[i] += complete.scatter.span()[i];
    }
    return view;
  }

  ViewSmoothing& smoothing_of(const ViewSet& set) {
    if (!smoothing_) smoothing_.emplace(set.size, set.pixel_mm, p_.scatter.smooth_fwhm_mm);
    return *smoothing_;
  }

  /// Exposures, and what the quantity says.
  ViewBatch corrected(ViewBatch batch) {
    for (ViewRecord& record : batch.records) {
      const ViewPlace& place = batch.set->places[static_cast<std::size_t>(record.view)];
      if (half_life_s_ == 0 && p_.dead_time.tau_s == 0) break;
      if (!(place.duration_s > 0))
        throw std::runtime_error(fmt::format(
            "decay and dead time need the views' times, and view {} states none: its file lacks them", record.view));
      record.exposure *= live_fraction_of(record, place);
      if (half_life_s_ > 0)
        record.exposure *= mean_decay(place.start_s - p_.decay.reference_time_s, place.duration_s, half_life_s_);
    }
    batch.quantity = quantity_after(batch.quantity);
    return batch;
  }

  double live_fraction_of(const ViewRecord& record, const ViewPlace& place) try {
    if (p_.dead_time.tau_s == 0) return 1;
    if (record.exposure != 1)
      throw std::invalid_argument("the view states an exposure of its own, so its dead time is corrected already");
    const double fraction =
        live_fraction(static_cast<double>(record.counts) / place.duration_s, p_.dead_time.tau_s, p_.dead_time.model);
    least_live_ = std::min(least_live_, fraction);
    return fraction;
  } catch (const std::invalid_argument& wrong) {
    throw std::runtime_error(
        fmt::format("dead time of view {}: {}: is dead_time.tau_s right, in seconds?", record.view, wrong.what()));
  }

  std::string scatter_words() const {
    std::string words = file_ ? file_->words() : windows_->words();
    if (p_.scatter.smooth_fwhm_mm > 0) words += fmt::format(", smoothed by {:g} mm FWHM", p_.scatter.smooth_fwhm_mm);
    return words;
  }

  // Made once for all views with the same quantity.
  std::shared_ptr<const Quantity> quantity_after(const std::shared_ptr<const Quantity>& before) {
    if (quantity_ && before == quantity_before_) return quantity_;
    quantity_before_ = before;
    Quantity after = before ? *before : Quantity{};
    const auto require_needed = [&](Correction correction) {
      const CorrectionRecord& record = after[correction];
      if (record.state != CorrectionState::made && record.state != CorrectionState::not_needed) return;
      const std::string why = record.state == CorrectionState::made
                                  ? fmt::format("are corrected for {} already", name_of(correction))
                                  : fmt::format("need no correction for {}", name_of(correction));  // simulated ones
      throw std::runtime_error(fmt::format("the views {} ({}): leave it out here", why, record.how));
    };
    const auto made = [&](Correction correction, std::string how) {
      require_needed(correction);
      after[correction] = {CorrectionState::made, std::move(how)};
    };
    if (CorrectionRecord& uniform = after[Correction::normalisation];
        p_.uniform && uniform.state != CorrectionState::made)
      uniform = {CorrectionState::made, "by the camera (uniform: true)"};
    if (windows_ || file_) made(Correction::scatter, scatter_words());
    if (half_life_s_ > 0) {
      require_needed(Correction::decay);
      correct_for_decay(after, {half_life_s_, p_.decay.reference_time_s});
    }
    if (p_.dead_time.tau_s > 0) made(Correction::dead_time, fmt::format("{:g} s", p_.dead_time.tau_s));
    return quantity_ = std::make_shared<const Quantity>(std::move(after));
  }

  void leave_out_what_waits(Context& context) const {
    const std::vector<ViewBatch> left = windows_->left();
    if (left.empty()) return;
    for (const ViewBatch& view : left)
      context.books().rejected(view.event_count(), "views whose scatter windows never came");
    context.log().warning(fmt::format("views whose scatter windows never came are left out: {} (the first is view {})",
                                      left.size(), left.front().records.front().view));
  }

  void look_at_scatter(double fraction, Context& context) const {
    context.report("scatter_fraction", fraction);
    if (fraction > 1)
      context.log().warning(fmt::format("the expected scatter is {:.0f} % of the counts: {} right?", 100 * fraction,
                                        file_ ? "is the file's unit" : "are the windows' energies"));
    constexpr double least = 0.01;
    if (file_ && fraction < least)
      context.log().warning(fmt::format(
          "the expected scatter is {:.2g} % of the counts: its file needs counts in a view's time, not a second's",
          100 * fraction));
  }

  Params p_;
  double half_life_s_;  // 0: no decay
  std::optional<WindowScatter> windows_;
  std::optional<FileScatter> file_;
  std::optional<ViewSmoothing> smoothing_;
  double least_live_ = 1;
  double scatter_counts_ = 0, counts_ = 0;
  std::shared_ptr<const Quantity> quantity_before_, quantity_;
};

TOFSTREAM_GADGET(ViewCorrections, "view_corrections",
                 "Corrects views of a gamma camera for scatter, decay and dead time");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
