// Single scatter of the estimate, renewed while a list-mode reconstruction runs, as additive terms of its events.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/additive.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/io/picture/image_view.hpp"
#include "gadgets/motion/still.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/io/scatter_nifti.hpp"
#include "gadgets/ring/io/scatter_plot.hpp"
#include "gadgets/ring/pair_multiple_scatter.hpp"
#include "gadgets/ring/scatter_record.hpp"
#include "gadgets/step/beside.hpp"
#include "gadgets/step/estimated_scatter.hpp"
#include "gadgets/step/renewals.hpp"
#include "gadgets/step/run_record.hpp"
#include "kernels/memory/devices.hpp"
#include "kernels/ring/correct/event_terms.hpp"
#include "kernels/ring/scatter/scatter_scanner.hpp"
#include "kernels/ring/scatter/scatter_tails.hpp"

namespace tofstream {

namespace {

struct ScatterInputs {
  std::shared_ptr<const EventSubset> events;
  std::shared_ptr<const Estimate> image;
  static constexpr bool takes_announcements = true;  // they name the scanner
  static constexpr auto inputs =
      ports(port<&ScatterInputs::events>("events"), port<&ScatterInputs::image>("image", feedback));
};

/// An estimate as terms of events, on whichever backend these lie.
class ScatterTerms final : public AdditiveTerms<EventBatch> {
 public:
  explicit ScatterTerms(std::shared_ptr<const ScatterEstimate> estimate) : estimate_(std::move(estimate)) {
    lines_ = estimate_->has_tof() ? std::make_shared<const ScatterEstimate>(estimate_->without_tof()) : estimate_;
  }

  const ScatterEstimate& estimate() const { return *estimate_; }

  void write(const EventBatch& batch, float* to) const override {
    const bool of_bins = !batch.tof_mm.empty() && batch.tof.sigma_mm > 0;
    // In the estimate's unit the reference time cancels: its image counts the decays of that time, and so do the terms.
    const EventTerms terms{
        .scatter = of_bins ? estimate_ : lines_, .exposure = batch.exposure, .reference_s = 1, .tof = of_bins};
    const Backend backend = on_host(batch.memory()) ? Backend::cpu : Backend::cuda;
    const std::lock_guard lock(mutex_);
    auto& corrector = correctors_[{backend, backend == Backend::cuda ? current_device() : 0}];
    if (!corrector) corrector = std::make_unique<EventCorrector>(backend);
    corrector->sum_additive(batch, terms, to);
  }

 private:
  std::shared_ptr<const ScatterEstimate> estimate_, lines_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<Backend, int>, std::unique_ptr<EventCorrector>> correctors_;  // by device
};

struct SingleScatterGadget {
  struct Params {
    std::filesystem::path mu_map;
    std::vector<int> at_iterations = {2, 3};
    double every_s = 0;
    std::optional<double> within_s;
    ScatterFit fit = ScatterFit::tails;
    MultipleScatterBy multiple = MultipleScatterBy::scaled;
    double multiple_error = 0.1;
    bool tof = true;
    double point_mm = 20;
    std::filesystem::path file = "scatter.nii.gz";
    std::filesystem::path resume_from;
    BackendChoice backend = BackendChoice::automatic;
  };
  static constexpr auto params = describe(
      param<&Params::mu_map>("mu_map", required, reads_file, mu_map_words),
      param<&Params::at_iterations>("at_iterations",
                                    "Iterations, from 2 on, at whose beginning the scatter is made of the estimate; "
                                    "until then there is none"),
      param<&Params::every_s>("every_s", range(0, 1e9), unit("s"),
                              "In a live stream, the scan time after which the scatter is made anew, first after as "
                              "much of it, in place of at_iterations. 0: none until the final passes of `final: "
                              "offline`"),
      param<&Params::within_s>(
          "within_s", range(0, 1e9), unit("s"),
          "And the scan time after which it is in place: until then it is made beside the updates, "
          "which wait for it only where it is not ready. 0: they wait at once; none: half of every_s"),
      param<&Params::fit>(
          "fit",
          "tails: multiplied by the factors along z that events beside the body ask for, which make up for "
          "coincidences with more than one scatter, where `multiple` leaves these to it; none: as it was computed"),
      param<&Params::multiple>("multiple", multiple_words),
      param<&Params::multiple_error>("multiple_error", range(1e-3, 1), multiple_error_words),
      param<&Params::tof>("tof", "By ToF, where the events have it, as the projector uses it"),
      param<&Params::point_mm>("point_mm", range(2, 200), unit("mm"), scatter_point_words),
      param<&Params::file>("file", in_run_folder,
                           "Name of the last estimate in the output folder, .nii or .nii.gz, which event_corrections "
                           "can read; beside it, as .tofs, what a run that was killed goes on from"),
      param<&Params::resume_from>("resume_from", resume_scatter_words),
      param<&Params::backend>("backend", "Where the scatter is computed"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static constexpr bool one_to_one = true;
  static MemoryNeed memory(const Params& p) {
    constexpr std::size_t least = std::size_t{256} << 20;
    return {.device_bytes = wants_cuda(p.backend) ? least : 0,
            .note =
                "holds the image, its mu map, and what lies between scatter points and detectors: some hundred MB, "
                "on a GPU up to a quarter of what is free there, 4 GiB at most, and its lines' spectra, 1.2 GiB in a "
                "total-body scanner"};
  }

  SingleScatterGadget(const Params& p, Context& context)
      : p_(p),
        path_(context.output_file(nifti_name(p.file))),
        plot_(context.output_file(plot_name(p.file))),
        renewals_(p.at_iterations, p.every_s, within_s(p)),
        record_(p.file, p.resume_from, context) {
    mu_ = read_mu_map(p.mu_map);
    require_per_cm(p.mu_map, *mu_);
    mu_checksum_ = checksum_of_mu_map(*mu_);
    begin_record(context);
  }

  void process(ScatterInputs inputs, Emit<Additive<EventBatch>>& emit, Context& context) {
    const EventSubset& subset = *inputs.events;
    const Estimate& estimate = *inputs.image;
    if (const EventBatch* sample = subset.sample(); sample && sample->scanner && !scatter_) {
      begin_own_record(context);
      set_scanner(sample->scanner);
      go_on_making(sample->scanner, context);
    }
    if (const EventBatch* sample = subset.sample()) require_still(*sample, "single_scatter");
    require_voxels(estimate);
    if (subset.step.frame.number > 0 || subset.step.gate > 0)
      throw std::runtime_error(
          "scatter is not told apart by frames or gates: leave this gadget out of a pipeline with framing or gating, "
          "and "
          "give event_corrections a scatter file");
    require_correctable(subset);
    if (subset.step.restart) begin_anew(subset.step, context);
    const bool is_due = estimate.image && is_due_for(subset, context);
    // Live, the projector need not wait for what this subset says of the next scatter. Elsewhere no checkpoint of its
    // update must come before the record of it.
    const bool can_wait = !is_due && is_live(subset.step);
    if (!can_wait) note_tails(subset, context);
    if (is_due) renew(subset, estimate, context);
    emit(Additive<EventBatch>{estimate.image, terms_, said_.get()});
    if (can_wait) note_tails(subset, context);
    record_.shorten(std::exchange(needless_before_, 0), context);
  }

  void flush(Context& context) {
    if (!terms_ && said_.is_not_needed()) return;
    if (!terms_)
      return context.log().warning(
          fmt::format("the image is not corrected for scatter: the run ended before {}", renewals_.first_time()));
    ScatterEstimate estimate = terms_->estimate();
    for (float& value : estimate.values) value /= static_cast<float>(reference_s_);
    write_scatter(path_, estimate);
    context.report("file", path_.string());
    plot_scatter(plot_, estimate);
    context.report(profiles_figure, plot_.string());
  }

 private:
  // What an estimate is made of.
  struct Making {
    std::shared_ptr<const Image> image;          // on the host
    double reference_s = 1;                      // the image counts decays in so many seconds, the file those in one
    const ScatterTails::Noted* noted = nullptr;  // null: no fit
  };
  struct Made {
    std::shared_ptr<ScatterEstimate> scatter;
    std::optional<MultipleScatterPart> multiple;
    std::optional<TailFit> tails;
    double reference_s = 1, seconds = 0;
  };

  static bool is_live(const UpdateStep& step) { return step.iterations == 0; }
  static std::filesystem::path plot_name(const std::filesystem::path& file) {
    const std::string name = file.string();
    return name.substr(0, name.rfind(".nii")) + ".png";
  }
  static double within_s(const Params& p) { return p.within_s.value_or(0.5 * p.every_s); }

  // Where the run goes on from another one, so does what is known.
  void set_scanner(const std::shared_ptr<const Scanner>& events_of) {
    scanner_ = scatter_scanner(*events_of);
    scatter_.emplace(*mu_, scanner_.detectors, p_.point_mm);
    if (p_.fit == ScatterFit::tails) tails_.emplace(*mu_);
    if (tails_ && known_.has_tails) {
      known_.tails.scanner = events_of;
      tails_->go_on(std::move(known_.tails));
      noted_iteration_ = 1;
    }
    if (p_.multiple == MultipleScatterBy::scaled) mu_.reset();
  }

  static void require_voxels(const Estimate& estimate) {
    const bool is_of_blobs = estimate.image ? estimate.image->grid.has_blobs() : estimate.wish && estimate.wish->blobs;
    if (is_of_blobs) throw std::invalid_argument("scatter is made of images of voxels, not of blobs");
  }

  void require_correctable(const EventSubset& subset) const {
    for (const auto& batch : subset.batches) {
      if (batch->count > 0 && batch->multiplicative.empty())
        throw std::runtime_error(
            "the events carry no attenuation, which their scatter is compared with: put event_corrections, with the "
            "same mu map, before the gadget that sorts them");
      if (!p_.tof && !batch->tof_mm.empty())
        throw std::runtime_error(
            "the events have ToF, and this gadget has tof: false: write it at the pipeline's top, so that neither "
            "event_corrections nor the projector uses ToF");
    }
    const CorrectionRecord* const scatter = subset.quantity ? &(*subset.quantity)[Correction::scatter] : nullptr;
    if (scatter && scatter->state == CorrectionState::made)
      throw std::runtime_error(fmt::format(
          "the events are corrected for scatter already, by {}: leave out either that or this gadget", scatter->how));
  }

  // Each event once: in the first iteration that comes, which is another than 1 only in a run that goes on from one of
  // which there is no record.
  void note_tails(const EventSubset& subset, Context& context) {
    if (!tails_ || subset.step.iteration == 0) return;
    if (noted_iteration_ == 0) noted_iteration_ = subset.step.iteration;
    const std::uint64_t seen_before = tails_->noted().seen;
    if (subset.step.iteration == noted_iteration_) {
      const std::size_t first = noted_iteration_ == 1 ? subset.first_new() : 0;
      for (std::size_t i = first; i < subset.batches.size(); ++i) tails_->add(*subset.batches[i]);
    }
    if (tails_->noted().seen > seen_before)
      record_.write(context,
                    [&](TermsRecord& to) { record_tails(to, subset.step.update, tails_->noted(), seen_before); });
    if (is_live(subset.step))
      record_.write(context, [&](TermsRecord& to) { to.append(TermsEntry::all_noted, subset.step.update); });
  }

  // What the run that this one goes on from knew.
  void begin_record(Context& context) {
    if (record_.update() == 0) return;
    known_ = read_scatter_record(record_.from(), record_.update());
    if (!known_.estimate && known_.shortened_to > record_.update()) take_later_estimate(context);
    if (known_.is_behind && p_.fit == ScatterFit::tails)
      context.log().warning(
          fmt::format("the run was killed before the events of update {} were looked at for scatter: what is made from "
                      "now on is fitted without them, so the image is not quite that of a run that was not killed",
                      record_.update()));
    if (known_.renewal) renewals_.go_on(known_.renewal->times);
    if (!known_.estimate) return;
    terms_ = std::make_shared<const ScatterTerms>(known_.estimate);
    reference_s_ = known_.reference_s;
    renewals_.go_on(known_.iteration);
    in_place_from_ = known_.from_update;
    said_.made();
  }

  // The record of a live run keeps what its checkpoints need, and here the checkpoint is older.
  void take_later_estimate(Context& context) {
    const RecordedScatter later = read_scatter_record(record_.from(), known_.shortened_to);
    if (!later.estimate) return;
    known_.estimate = later.estimate;
    known_.reference_s = later.reference_s;
    known_.from_update = record_.update();
    is_of_later_update_ = true;
    context.log().warning(fmt::format(
        "the checkpoint is of update {}, and {} has the scatter from update {} on: that is taken, so the image "
        "is not quite that of a run that was not killed (every_s of checkpoint_writer should be shorter than "
        "that of single_scatter)",
        record_.update(), record_.from().string(), known_.shortened_to));
  }

  void begin_own_record(Context& context) {
    record_.begin(context);
    if (!std::exchange(is_of_later_update_, false)) return;
    record_.write(context, [&](TermsRecord& to) {
      record_scatter(to, record_.update(), *known_.estimate, known_.iteration, known_.reference_s);
    });
  }

  // What the other run was making when it was killed.
  void go_on_making(const std::shared_ptr<const Scanner>& events_of, Context& context) {
    if (known_.renewal && known_.renewal->image) {
      RecordedRenewal& renewal = *known_.renewal;
      renewal.tails.scanner = events_of;
      of_update_ = renewal.of_update;
      make_beside({renewal.image, renewal.reference_s, tails_ ? &renewal.tails : nullptr}, context);
    }
    known_ = {};
  }

  void begin_anew(const UpdateStep& step, Context& context) {
    record_.write(context, [&](TermsRecord& to) { to.append(TermsEntry::begun_anew, step.update); });
    beside_.drop();
    terms_ = nullptr;
    renewals_.begin_anew();
    said_.begin_anew();
  }

  bool is_due_for(const EventSubset& subset, Context& context) {
    const EventBatch* const last = subset.batches.empty() ? nullptr : subset.batches.back().get();
    const double scan_s = last ? last->start_s + last->duration_s : 0;
    if (renewals_.are_in_place(subset.step, scan_s) && beside_.is_at_work()) take_beside(subset.step, context);
    return renewals_.are_due(subset.step, terms_ != nullptr, scan_s) && !said_.has_none(subset.quantity.get(), context);
  }

  void renew(const EventSubset& subset, const Estimate& estimate, Context& context) {
    warn_of_attenuation(estimate, context);
    const Making making{on_host(estimate), reference_of(estimate), tails_ ? &tails_->noted() : nullptr};
    of_update_ = subset.step.update;
    if (!renewals_.are_made_beside(subset.step)) return take(make_now(making, context), subset.step, context);
    record_.write(context, [&](TermsRecord& to) {
      record_renewal(to, of_update_, {renewals_.times(), of_update_, making.image, making.reference_s, {}});
    });
    make_beside(making, context);
  }

  void make_beside(const Making& making, Context& context) {
    // A GPU is given to one gadget at a time, and makes it in a moment.
    if (resolve(p_.backend) == Backend::cuda)
      beside_.begin([made = make_now(making, context)](const std::stop_token&) { return made; });
    else
      begin_beside(making);
  }

  void begin_beside(Making making) {
    // More events are noted while the fit reads those of now.
    auto noted = making.noted ? std::make_shared<const ScatterTails::Noted>(*making.noted) : nullptr;
    beside_.begin([this, making, noted](const std::stop_token& stop) mutable {
      making.noted = noted.get();
      return make(making, [&stop](double, const char*) {
        if (stop.stop_requested()) throw std::runtime_error("the scatter is not needed any more");
      });
    });
  }

  void take_beside(const UpdateStep& step, Context& context) {
    const auto began = std::chrono::steady_clock::now();
    const Made made = beside_.take();
    context.append("waited_s", std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    take(made, step, context);
  }

  // What the events were told of it, and whose it is.
  void take(const Made& made, const UpdateStep& step, Context& context) {
    if (made.multiple) report_multiple(*made.multiple, p_.multiple_error, context);
    if (made.tails) tell(*made.tails, context);
    reference_s_ = made.reference_s;
    terms_ = std::make_shared<const ScatterTerms>(made.scatter);
    record_.write(context, [&](TermsRecord& to) {
      record_scatter(to, step.update, *made.scatter, step.iteration, made.reference_s);
      if (step.subsets == 0) record_renewal(to, step.update, {renewals_.times(), of_update_, nullptr, 1, {}});
    });
    if (step.subsets == 0) needless_before_ = std::exchange(in_place_from_, step.update);
    said_.made();
    context.log().info(
        fmt::format("single scatter at {} points, {}: {:.1f} s", scatter_->points(), when(step), made.seconds));
    context.append("estimated_in_s", made.seconds);
    context.report("scatter_points", scatter_->points());
    if (step.subsets == 0) {
      context.append("of_update", static_cast<double>(of_update_));
      context.append("from_update", static_cast<double>(step.update));
    }
  }

  std::string when(const UpdateStep& step) const {
    if (step.subsets > 0) return fmt::format("for iteration {}", step.iteration);
    if (of_update_ == step.update) return fmt::format("for update {}", step.update);
    return fmt::format("of the image that update {} met, from update {} on", of_update_, step.update);
  }

  static double reference_of(const Estimate& estimate) {
    return estimate.quantity && estimate.quantity->reference_s > 0 ? estimate.quantity->reference_s : 1;
  }

  Made make_now(const Making& making, Context& context) {
    std::optional<Turn> turn;
    if (resolve(p_.backend) == Backend::cuda) turn.emplace(context.take_turn());
    return make(making, scatter_progress(context));
  }

  // Reads only what does not change while the run lasts, but for the fit, which nobody else calls meanwhile.
  Made make(const Making& making, const ImageScatterProgress& progress) {
    const auto began = std::chrono::steady_clock::now();
    const ScatterSampling sampling = ScatterSampling::of(reach_of_scatter_lines * scanner_.detectors.radius_mm,
                                                         scanner_.half_length_mm, p_.tof ? scanner_.tof_sigma_mm : 0);
    const Backend backend = resolve(p_.backend);
    const auto points = static_cast<double>(scatter_->points());
    const auto of_points = [&](std::int64_t done) {
      progress(static_cast<double>(done) / points, "of single scatter");
    };
    Made made;
    made.scatter = std::make_shared<ScatterEstimate>(scatter_->estimate(*making.image, sampling, backend, of_points));
    progress(1, "of single scatter");
    if (p_.multiple == MultipleScatterBy::monte_carlo)
      made.multiple = add_multiple_scatter(*made.scatter, *making.image, *mu_, scanner_.detectors, sampling,
                                           p_.multiple_error, backend, progress);
    made.reference_s = making.reference_s;
    if (making.noted) {
      made.tails = tails_->fit(*making.noted, *made.scatter, making.reference_s);
      if (made.tails->scatter >= least_scatter_of_tails) multiply(*made.scatter, *made.tails);
    }
    made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return made;
  }

  void tell(const TailFit& fit, Context& context) const {
    if (fit.scatter < least_scatter_of_tails) return warn_of_few_tails("events", fit.scatter, context);
    context.append("tail_factor", fit.mean);
    context.report("tail_factor_error", fit.error);
    context.report("tail_counts", fit.counts);
    context.append("tail_chi2", fit.chi2_a_place());
    context.append("tail_misfit", fit.by_place.misfit());
    std::string along_z;
    for (std::size_t n = 0; n < fit.factors.size(); ++n)
      along_z += fmt::format("{}{:.3f} at z = {:.0f} mm", n == 0 ? "" : ", ", fit.factors[n], fit.z_mm[n]);
    context.report("tail_factors_along_z", along_z);
    context.log().info(fmt::format("beside the body {:.0f} events ask for {:.3f} +- {:.3f} of it: {}; {}", fit.counts,
                                   fit.mean, fit.error, along_z, words_of_fit(fit.by_place, fit.chi2_a_place())));
    if (is_usual(p_.multiple, terms_ != nullptr))
      warn_of_tail_factor("events", fit.mean, fit.error, fit.is_at_bound, context);
  }
  static void multiply(ScatterEstimate& scatter, const TailFit& fit) {
    const auto z_of = [&](int sample) {
      return (sample - 0.5 * (scatter.size[2] - 1)) * static_cast<double>(scatter.axial_mm);
    };
    const auto a_row = static_cast<std::size_t>(scatter.size[0]) * static_cast<std::size_t>(scatter.size[1]);
    auto value = scatter.values.begin();
    for (int tof = 0; tof < scatter.size[4]; ++tof)
      for (int b = 0; b < scatter.size[3]; ++b)
        for (int a = 0; a < scatter.size[2]; ++a) {
          const auto factor = static_cast<float>(fit.at(0.5 * (z_of(a) + z_of(b))));
          for (std::size_t n = 0; n < a_row; ++n) *value++ *= factor;
        }
  }

  /// An image that is too low inside the body has too little scatter as well.
  void warn_of_attenuation(const Estimate& estimate, Context& context) {
    if (!estimate.quantity || std::exchange(is_warned_, true)) return;
    const Quantity& quantity = *estimate.quantity;
    const AttenuatedBy& by = quantity.attenuated_by;
    if (quantity[Correction::attenuation].state == CorrectionState::called_for)
      context.log().warning(
          "the image is not corrected for attenuation, and its scatter is as wrong as it is: give the projector (and "
          "event_corrections) the mu map too, at the pipeline's top");
    else if (!by.mu_map.empty() && by.checksum != mu_checksum_)
      context.log().warning(
          fmt::format("scatter is made in {}, and the image was corrected for attenuation by another map, {}",
                      p_.mu_map.string(), by.mu_map));
  }

  Params p_;
  std::filesystem::path path_, plot_;
  std::optional<Image> mu_;  // until the scanner is known, and for Monte Carlo
  std::uint32_t mu_checksum_ = 0;
  ScatterScanner scanner_;
  std::optional<SingleScatter> scatter_;
  std::optional<ScatterTails> tails_;
  int noted_iteration_ = 0;
  std::shared_ptr<const ScatterTerms> terms_;
  Renewals renewals_;
  SaidOfScatter said_ = SaidOfScatter(renewals_.first());
  double reference_s_ = 1;
  RunRecord record_;
  RecordedScatter known_;             // of the run that this one goes on from, until the scanner is known
  bool is_of_later_update_ = false;   // its estimate
  std::int64_t of_update_ = 0;        // that met the image of which the scatter was made, or is being made
  std::int64_t in_place_from_ = 0;    // the update from which on a live stream's scatter holds
  std::int64_t needless_before_ = 0;  // updates whose scatter no checkpoint needs any more; 0: not known
  bool is_warned_ = false;
  Beside<Made> beside_;  // last: its work uses the others
};

TOFSTREAM_GADGET(SingleScatterGadget, "single_scatter",
                 "Estimates single scatter of the image while it is reconstructed, for a projector's input additive");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
