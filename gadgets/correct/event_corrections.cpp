// Gives events the terms that list-mode EM needs: attenuation, normalisation, randoms, scatter, dead time and decay.
#include "gadgets/correct/event_corrections.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/gadget.hpp"
#include "gadgets/formats/mu_map.hpp"
#include "gadgets/formats/normalisation_yaml.hpp"
#include "gadgets/formats/scatter_nifti.hpp"
#include "gadgets/payloads.hpp"
#include "kernels/correct/decay.hpp"
#include "kernels/correct/event_terms.hpp"

namespace tofstream {
namespace {

/// The scan time that batches cover.
struct CoveredTime {
  double begin_s = std::numeric_limits<double>::infinity(), end_s = -begin_s, sum_s = 0;
  void add(const EventBatch& batch) {
    begin_s = std::min(begin_s, batch.start_s);
    end_s = std::max(end_s, batch.start_s + batch.duration_s);
    sum_s += batch.duration_s;
  }
};

struct EventCorrections {
  using Params = EventCorrectionsParams;
  static constexpr auto params = Params::params;
  static constexpr bool own_thread = true;  // emits all events from flush where it has held them back
  // Events of 12 B and their two terms.
  static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs) {
    return {
        .message_bytes = inputs[0] / 12 * 20,
        .note = "the mu map and the scatter estimate; with randoms from the delayeds of the whole scan all its events"};
  }

  explicit EventCorrections(const Params& p) : p_(p), half_life_s_(half_life(p.decay)) {
    check(p);
    if (p.normalisation.from == NormalisationFrom::file)
      components_ = formats::read_normalisation(p.normalisation.file);
    if (!p.mu_map.empty()) attenuation_.emplace(read_mu_map(p.mu_map), resolve(p.backend));
    if (p.scatter.file.empty()) return;
    scatter_ = read_scatter(p.scatter.file);
    scatter_lines_ = scatter_->without_tof();
  }

  void process(EventBatch batch, Emit<EventBatch>& emit, Context& context) {
    if (batch.delayed) {
      take_delayeds(batch, context);
      return;
    }
    prompts_time_.add(batch);
    if (p_.randoms.from == RandomsFrom::delayeds && p_.randoms.use == RandomsUse::whole_scan)
      waiting_.push_back(std::move(batch));
    else
      emit(corrected(std::move(batch)));
  }

  void flush(Emit<EventBatch>& emit, Context& context) {
    for (EventBatch& batch : waiting_) emit(corrected(std::exchange(batch, {})));
    waiting_.clear();
    if (p_.randoms.from == RandomsFrom::delayeds && prompts_time_.sum_s > 0 && delayeds_ == 0)
      context.log().warning(
          "no delayed coincidence came, so randoms are not corrected: let the decoder give both (events: both)");
    if (delayeds_ > 0 && available_time().sum_s > 0)
      context.report("randoms_cps", static_cast<double>(delayeds_) / available_time().sum_s);
    if (half_life_s_ > 0) context.report("half_life_s", half_life_s_);
  }

 private:
  static double half_life(const DecayParams& p) {
    if (!p.isotope.empty() && p.half_life_s > 0)
      throw std::invalid_argument("decay: give isotope or half_life_s, not both");
    return p.isotope.empty() ? p.half_life_s : tofstream::half_life_s(p.isotope);
  }

  static void check(const Params& p) {
    const auto require = [](bool holds, const char* what) {
      if (!holds) throw std::invalid_argument(what);
    };
    require((p.normalisation.from == NormalisationFrom::file) == !p.normalisation.file.empty(),
            "normalisation: `file` goes with `from: file`, and `from: file` with `file`");
    require((p.randoms.from == RandomsFrom::rate) == (p.randoms.rate_cps > 0),
            "randoms: `rate_cps` goes with `from: rate`, and `from: rate` with `rate_cps`");
    require(
        p.reference_s > 0 || (p.randoms.from == RandomsFrom::none && p.scatter.file.empty()),
        "randoms and scatter are rates, which are compared with the image: say what time its decays are of, for the "
        "subset_builder too, by `reference_s: 1` at the top of the pipeline (a rate per second)");
  }

  void take_delayeds(const EventBatch& batch, Context& context) {
    const bool used = p_.randoms.from == RandomsFrom::delayeds;
    context.books().rejected(batch.event_count(), used ? "delayed coincidences, which estimate the randoms"
                                                       : "delayed coincidences, not used");
    if (!used || batch.count == 0) return;
    if (!batch.scanner) throw std::runtime_error("the delayed coincidences do not say which scanner recorded them");
    if (!counts_) counts_.emplace(*batch.scanner);
    counts_->add(batch);
    delayeds_ += batch.count;
    delayeds_time_.add(batch);
  }

  EventBatch corrected(EventBatch batch) {
    const bool has_tof = p_.tof && !batch.tof_mm.empty() && batch.tof.sigma_mm > 0;
    EventTerms terms;
    if (batch.scanner) batch.scanner = normalised(batch.scanner);
    if (attenuation_) terms.attenuation = &*attenuation_;
    if (scatter_) terms.scatter = has_tof ? &*scatter_ : &*scatter_lines_;
    if (p_.randoms.from != RandomsFrom::none) {
      prepare_randoms(batch);
      terms.randoms = &randoms_;
      terms.randoms_scale = randoms_scale(batch);
    }
    if (batch.exposure != 1 && p_.dead_time.live_fraction != 1)
      throw std::runtime_error(
          "the events state how live the scanner was, and dead_time.live_fraction says it again: leave this out, or "
          "let "
          "the decoder ignore theirs (dead_time: false)");
    terms.exposure = batch.exposure * p_.dead_time.live_fraction;
    if (half_life_s_ > 0)
      terms.exposure *= mean_decay(batch.start_s - p_.decay.reference_time_s, batch.duration_s, half_life_s_);
    if (p_.reference_s > 0) terms.reference_s = p_.reference_s;
    terms.tof = p_.tof;
    set_terms(batch, terms);
    return batch;
  }

  std::shared_ptr<const Scanner> normalised(const std::shared_ptr<const Scanner>& scanner) {
    if (p_.normalisation.from == NormalisationFrom::scanner) return scanner;
    if (scanner != original_) {
      original_ = scanner;
      replaced_ = components_ ? with_normalisation(*scanner, *components_) : without_normalisation(*scanner);
    }
    return replaced_;
  }

  // Of a whole scan the prompts say how long it was; of a live one the delayeds, how much of it they cover.
  const CoveredTime& available_time() const {
    return p_.randoms.use == RandomsUse::whole_scan ? prompts_time_ : delayeds_time_;
  }

  // The estimate of delayeds is made anew when a tenth more have come.
  void prepare_randoms(const EventBatch& batch) {
    if (!batch.scanner) throw std::runtime_error("randoms need events that say which scanner recorded them");
    if (p_.randoms.from == RandomsFrom::rate) {
      if (randoms_.factor.empty()) randoms_ = randoms_of_rate(*batch.scanner, p_.randoms.rate_cps);
      return;
    }
    if (!counts_) counts_.emplace(*batch.scanner);
    if (!randoms_.factor.empty() && 10 * delayeds_ <= 11 * fitted_delayeds_) return;
    const double seconds = available_time().sum_s;
    if (delayeds_ > 0 && !(seconds > 0))
      throw std::runtime_error("the events state no scan time, so their delayed coincidences give no rate of randoms");
    randoms_ = randoms_from_delayeds(*batch.scanner, *counts_, delayeds_ > 0 ? seconds : 1.0);
    fitted_delayeds_ = delayeds_;
    fitted_time_ = available_time();
  }

  // Singles go with the activity, randoms with its square, which halves the half-life.
  double randoms_scale(const EventBatch& batch) const {
    if (half_life_s_ == 0 || p_.randoms.from != RandomsFrom::delayeds || delayeds_ == 0) return 1;
    const double from_s = fitted_time_.begin_s;
    return mean_decay(batch.start_s - from_s, batch.duration_s, 0.5 * half_life_s_) /
           mean_decay(0, fitted_time_.end_s - from_s, 0.5 * half_life_s_);
  }

  Params p_;
  double half_life_s_;  // 0: no decay
  std::optional<NormalisationComponents> components_;
  std::optional<Attenuation> attenuation_;
  std::optional<ScatterEstimate> scatter_, scatter_lines_;
  std::shared_ptr<const Scanner> original_, replaced_;
  std::optional<DelayedCounts> counts_;
  std::int64_t delayeds_ = 0, fitted_delayeds_ = 0;  // so far, and in the present fit
  RandomsModel randoms_;
  CoveredTime prompts_time_, delayeds_time_, fitted_time_;
  std::vector<EventBatch> waiting_;
};

TOFSTREAM_GADGET(EventCorrections, "event_corrections",
                 "Corrects list mode for attenuation, normalisation, randoms, scatter, dead time and decay");

}  // namespace
}  // namespace tofstream
