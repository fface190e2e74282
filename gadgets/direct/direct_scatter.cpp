// Single scatter of the estimate, renewed while histo-images are reconstructed, as what they hold of it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/additive.hpp"
#include "gadgets/direct/histo_scatter.hpp"
#include "gadgets/direct/histo_scatter_record.hpp"
#include "gadgets/direct/histo_terms.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/step/estimated_scatter.hpp"
#include "gadgets/step/renewals.hpp"
#include "gadgets/step/run_record.hpp"
#include "gadgets/views.hpp"
#include "kernels/direct/direct.hpp"
#include "kernels/direct/histo_tails.hpp"
#include "kernels/types/float_counts.hpp"
#include "kernels/types/parts.hpp"

namespace tofstream {

namespace {

struct DirectScatterInputs {
  std::shared_ptr<const ViewSubset> views;
  std::shared_ptr<const Estimate> image;
  static constexpr bool takes_announcements = true;
  static constexpr auto inputs =
      ports(port<&DirectScatterInputs::views>("views"), port<&DirectScatterInputs::image>("image", feedback));
};

double exposed_times(const ViewBatch& batch, const ViewRecord& record) {
  const double duration_s = batch.set->places[static_cast<std::size_t>(record.view)].duration_s;
  return (duration_s > 0 ? duration_s / batch.reference_s : 1) * record.exposure;
}

/// The scanner's lines as histo-images see them, whatever is scattered.
struct LaidLines {
  Buffer<float> unattenuated;  // m0_v of all views, on the host
  HistoScatter laid;

  LaidLines(const HistoPlace& place, const Scanner& scanner, Buffer<float> terms)
      : unattenuated(std::move(terms)), laid(place, scanner, std::as_const(unattenuated).span()) {}
  LaidLines(const LaidLines&) = delete;
  LaidLines& operator=(const LaidLines&) = delete;
};

/// An estimate as what histo-images hold, on whichever backend these lie.
class HistoScatterTerms final : public AdditiveTerms<ViewBatch> {
 public:
  HistoScatterTerms(std::shared_ptr<const LaidLines> lines, std::shared_ptr<const LineScatter> scatter)
      : lines_(std::move(lines)), scatter_(std::move(scatter)) {}

  void set_factor(double factor) { factor_ = factor; }
  double factor() const { return factor_; }
  const LineScatter& scatter() const { return *scatter_; }
  /// The scatter of a view in so many times the reference time, to points in host memory.
  void of_view(int view, double times, float* to) const {
    lines_->laid.add(*scatter_, view, factor_ * times, nullptr, to, Memory::host);
  }

  void write(const ViewBatch& batch, float* to) const override {
    const std::int64_t pixels = batch.set->pixels();
    for (std::size_t v = 0; v < batch.records.size(); ++v) {
      const auto at = static_cast<std::int64_t>(v) * pixels;
      const float* before = batch.additive.empty() ? nullptr : batch.additive.data() + at;
      lines_->laid.add(*scatter_, batch.records[v].view, factor_ * exposed_times(batch, batch.records[v]), before,
                       to + at, batch.memory());
    }
  }

 private:
  std::shared_ptr<const LaidLines> lines_;
  std::shared_ptr<const LineScatter> scatter_;
  double factor_ = 1;
};

struct DirectScatterGadget {
  struct Params {
    std::filesystem::path mu_map;
    std::vector<int> at_iterations = {2, 3};
    ScatterFit fit = ScatterFit::tails;
    MultipleScatterBy multiple = MultipleScatterBy::scaled;
    double multiple_error = 0.1;
    double point_mm = 20;
    std::int64_t most_lines = 50'000'000;
    std::filesystem::path file = "scatter.nii.gz";
    std::filesystem::path resume_from;
    BackendChoice backend = BackendChoice::automatic;
  };
  static constexpr auto params = describe(
      param<&Params::mu_map>("mu_map", required, reads_file, mu_map_words),
      param<&Params::at_iterations>("at_iterations",
                                    "Iterations, from 2 on, at whose beginning the scatter is made of the estimate; "
                                    "until then there is none. While a live scan runs there is none either"),
      param<&Params::fit>(
          "fit",
          "tails: multiplied by the factor that counts beside the body ask for, which makes up for coincidences with "
          "more than one scatter, where `multiple` leaves these to it; none: as it was computed"),
      param<&Params::multiple>("multiple", multiple_words),
      param<&Params::multiple_error>("multiple_error", range(1e-3, 1), multiple_error_words),
      param<&Params::point_mm>("point_mm", range(2, 200), unit("mm"), scatter_point_words),
      param<&Params::most_lines>(
          "most_lines", range(1000, 2147483648.0),
          "Where histo-images see the scanner's lines, without attenuation, is from all of these "
          "where there are at most so many, else from a sample of this size"),
      param<&Params::file>("file", in_run_folder,
                           "Name of the last estimate in the output folder, .nii or .nii.gz, which histo_deposit and "
                           "event_corrections can read; beside it, as .tofs, what a run that was killed goes on from"),
      param<&Params::resume_from>("resume_from", resume_scatter_words),
      param<&Params::backend>("backend", "Where the scatter is computed; the lines are laid down on the CPU"));
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static constexpr bool one_to_one = true;
  static MemoryNeed memory(const Params& p) {
    constexpr std::size_t least = std::size_t{256} << 20;
    return {.device_bytes = wants_cuda(p.backend) ? least : 0,
            .note =
                "holds 4 B a point of all views on the host, the image and its mu map, and what lies between scatter "
                "points and detectors: some hundred MB"};
  }

  DirectScatterGadget(const Params& p, Context& context)
      : p_(p),
        path_(context.output_file(nifti_name(p.file))),
        record_(p.file, p.resume_from, context),
        renewals_(p.at_iterations),
        mu_(read_mu_map(p.mu_map)) {
    require_per_cm(p.mu_map, mu_);
  }

  void process(DirectScatterInputs inputs, Emit<Additive<ViewBatch>>& emit, Context& context) {
    const ViewSubset& subset = *inputs.views;
    const Estimate& estimate = *inputs.image;
    if (const ViewBatch* sample = subset.sample()) require_correctable(subset, *sample);
    if (subset.step.restart) begin_anew(subset.step, context);
    if (estimate.image) {
      if (!place_ && !subset.batches.empty() && subset.step.subsets > 0)
        begin(*subset.batches.front(), *estimate.image, context);
      note_tails(subset, context);
      if (renewals_.are_due(subset.step, terms_ != nullptr) && !said_.has_none(subset.quantity.get(), context))
        renew(subset, estimate, context);
    }
    emit(Additive<ViewBatch>{estimate.image, terms_, said_.get()});
  }

  void flush(Context& context) {
    if (!terms_ && said_.is_not_needed()) return;
    if (!terms_)
      return context.log().warning(
          fmt::format("the image is not corrected for scatter: the run ended before {}", renewals_.first_time()));
    terms_->scatter().write(path_, terms_->factor() / reference_s_);
    context.report("file", path_.string());
  }

 private:
  static void require_correctable(const ViewSubset& subset, const ViewBatch& sample) {
    if (!sample.set->histo.scanner)
      throw std::runtime_error(
          "the histo-images do not say which scanner recorded their events, so nobody knows their scatter: take them "
          "from histo_deposit or live_histo");
    const CorrectionRecord* const scatter = subset.quantity ? &(*subset.quantity)[Correction::scatter] : nullptr;
    if (scatter && scatter->state == CorrectionState::made)
      throw std::runtime_error(fmt::format(
          "the histo-images hold scatter already, of {}: leave out either that or this gadget", scatter->how));
  }

  void begin(const ViewBatch& sample, const Image& image, Context& context) {
    const ViewSet& set = *sample.set;
    place_ = {image.grid, direct_views_of(set), set.histo.lie_along_view ? HistoLattice::view : HistoLattice::image,
              p_.most_lines};
    scanner_ = set.histo.scanner;
    const double multiple_error = p_.multiple == MultipleScatterBy::monte_carlo ? p_.multiple_error : 0;
    scatter_ = scatter_of(*scanner_).of_images(*scanner_, mu_, {p_.point_mm, multiple_error});
    if (p_.fit == ScatterFit::tails)
      tails_.emplace(mu_, place_->grid, place_->views, place_->lattice,
                     HistoTailsSettings{.tof_sigma_mm = static_cast<double>(set.histo.tof_sigma_mm)});
    if (record_.update() > 0) go_on(context);
    record_.begin(context);
  }

  void go_on(Context& context) {
    RecordedHistoScatter known = read_histo_scatter_record(record_.from(), record_.update(), scatter_of(*scanner_));
    tails_of_views_ = std::move(known.tails);
    if (!tails_of_views_.empty()) noted_iteration_ = 1;
    if (!known.scatter) return;
    lay_lines_down(context);
    auto terms = std::make_shared<HistoScatterTerms>(lines_, std::move(known.scatter));
    terms->set_factor(known.factor);
    terms_ = std::move(terms);
    reference_s_ = known.reference_s;
    renewals_.go_on(known.iteration);
    said_.made();
  }

  void begin_anew(const UpdateStep& step, Context& context) {
    record_.write(context, [&](TermsRecord& to) { to.append(TermsEntry::begun_anew, step.update); });
    terms_ = nullptr;
    renewals_.begin_anew();
    tails_of_views_.clear();
    noted_iteration_ = 0;
    said_.begin_anew();
  }

  // Each view once: in the first iteration that comes, which is another than 1 only in a run that goes on from one of which
  // there is no record.
  void note_tails(const ViewSubset& subset, Context& context) {
    if (!tails_ || subset.step.iteration == 0 || subset.step.subsets == 0) return;
    if (noted_iteration_ == 0) noted_iteration_ = subset.step.iteration;
    if (subset.step.iteration != noted_iteration_) return;
    const std::size_t before = tails_of_views_.size();
    for (const auto& batch : subset.batches) {
      for (std::size_t v = 0; v < batch->records.size(); ++v) {
        const ViewRecord& record = batch->records[v];
        ViewBatch here = range_of(*batch, {static_cast<std::int64_t>(v), 1}, Memory::host);
        synchronize(nullptr);
        const ViewBatch view = with_float_counts(std::move(here));
        const auto of = [&](const Buffer<float>& values) {
          return values.empty() ? 0.0 : tails_->sum(record.view, values.data());
        };
        tails_of_views_.push_back({record.view, exposed_times(*batch, record), of(view.counts), of(view.additive)});
      }
    }
    record_.write(context, [&](TermsRecord& to) {
      record_histo_tails(to, subset.step.update, std::span(tails_of_views_).subspan(before));
    });
  }

  void lay_lines_down(Context& context) {
    HistoTerms terms = histo_terms(place_->grid, place_->views, place_->lattice, *scanner_,
                                   {.most_lines = place_->most_lines}, context);
    lines_ = std::make_shared<const LaidLines>(*place_, *scanner_, std::move(terms.values));
  }

  std::shared_ptr<const LineScatter> estimate_scatter(const Image& image, Context& context) const {
    const Backend backend = resolve(p_.backend);
    std::optional<Turn> turn;
    if (backend == Backend::cuda) turn.emplace(context.take_turn());
    const ImageScatter::Made made = scatter_->of(image, backend, scatter_progress(context));
    if (made.multiple) report_multiple(*made.multiple, p_.multiple_error, context);
    return made.scatter;
  }

  void renew(const ViewSubset& subset, const Estimate& estimate, Context& context) {
    const auto began = std::chrono::steady_clock::now();
    warn_of_attenuation(estimate, context);
    if (!lines_) lay_lines_down(context);
    auto made = std::make_shared<HistoScatterTerms>(lines_, estimate_scatter(*on_host(estimate), context));
    // The image counts decays in so many seconds, the file those in one.
    reference_s_ = estimate.quantity && estimate.quantity->reference_s > 0 ? estimate.quantity->reference_s : 1;
    if (tails_) scale(*made, context);
    terms_ = std::move(made);
    record_.write(context, [&](TermsRecord& to) {
      record_histo_scatter(to, subset.step.update, terms_->scatter(), subset.step.iteration, terms_->factor(),
                           reference_s_);
    });
    said_.made();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    context.log().info(fmt::format("single scatter at {} points, for iteration {}: {:.1f} s", scatter_->points(),
                                   subset.step.iteration, seconds));
    context.append("estimated_in_s", seconds);
    context.report("scatter_points", scatter_->points());
  }

  // f of sum h = sum (b + f scatter) over the points beside the body, where the image has nothing to see.
  void scale(HistoScatterTerms& made, Context& context) {
    double counts = 0, other = 0, scatter = 0;
    std::vector<double> scatter_of;
    std::vector<float> of_view(static_cast<std::size_t>(lines_->laid.points_of_view()));
    for (const TailOfView& tail : tails_of_views_) {
      const int view = static_cast<int>(tail.view);
      made.of_view(view, tail.times, of_view.data());
      counts += tail.counts;
      other += tail.other;
      scatter += scatter_of.emplace_back(tails_->sum(view, of_view.data()));
    }
    constexpr double least_factor = 0.25, most_factor = 4;
    if (scatter < least_scatter_of_tails) return warn_of_few_tails("counts", scatter, context);
    const double asked = (counts - other) / scatter, error = std::sqrt(counts) / scatter;
    made.set_factor(std::clamp(asked, least_factor, most_factor));
    context.append("tail_factor", made.factor());
    context.report("tail_factor_error", error);
    context.report("tail_counts", counts);
    const CountsFit by_views = fit_by_views(scatter_of, made.factor());
    context.append("tail_chi2", by_views.chi2_a_place(1));
    context.append("tail_misfit", by_views.misfit());
    context.log().info(fmt::format("beside the body {:.0f} counts ask for {:.3f} +- {:.3f} of the scatter; {}", counts,
                                   asked, error, words_of_fit(by_views, by_views.chi2_a_place(1))));
    if (is_usual(p_.multiple, terms_ != nullptr)) warn_of_tail_factor("counts", asked, error, false, context);
  }

  // Neighbouring views together, as many as it takes for counts that tell something.
  CountsFit fit_by_views(const std::vector<double>& scatter_of, double factor) const {
    constexpr double enough = 25;
    CountsFit made;
    double counts = 0, expected = 0;
    for (std::size_t n = 0; n < scatter_of.size(); ++n) {
      counts += tails_of_views_[n].counts;
      expected += tails_of_views_[n].other + factor * scatter_of[n];
      if (expected < enough) continue;
      made.add(counts, expected, expected);
      counts = expected = 0;
    }
    return made;
  }

  /// An image that is too low inside the body has too little scatter as well.
  void warn_of_attenuation(const Estimate& estimate, Context& context) {
    if (!estimate.quantity || std::exchange(is_warned_, true)) return;
    if ((*estimate.quantity)[Correction::attenuation].state == CorrectionState::called_for)
      context.log().warning(
          "the image is not corrected for attenuation, and its scatter is as wrong as it is: give histo_deposit the mu "
          "map too, at the pipeline's top");
  }

  Params p_;
  std::filesystem::path path_;
  RunRecord record_;
  Renewals renewals_;
  Image mu_;
  std::optional<HistoPlace> place_;
  std::shared_ptr<const Scanner> scanner_;
  std::unique_ptr<ImageScatter> scatter_;
  std::optional<HistoTails> tails_;
  std::vector<TailOfView> tails_of_views_;
  int noted_iteration_ = 0;
  std::shared_ptr<const LaidLines> lines_;
  std::shared_ptr<const HistoScatterTerms> terms_;
  SaidOfScatter said_ = SaidOfScatter(renewals_.first());
  double reference_s_ = 1;
  bool is_warned_ = false;
};

TOFSTREAM_GADGET(DirectScatterGadget, "direct_scatter",
                 "Estimates single scatter of the image while it is reconstructed from histo-images, for a projector's "
                 "input additive");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
