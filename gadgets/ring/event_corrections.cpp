// Gives events the terms that list-mode EM needs: attenuation, normalisation, randoms, scatter, dead time and decay.
#include "gadgets/ring/event_corrections.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/motion/still.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/exposure.hpp"
#include "gadgets/ring/io/dead_time_yaml.hpp"
#include "gadgets/ring/io/normalisation_yaml.hpp"
#include "gadgets/ring/io/scatter_nifti.hpp"
#include "gadgets/ring/module_live_time.hpp"
#include "gadgets/ring/randoms_in_time.hpp"
#include "kernels/memory/bring.hpp"
#include "kernels/ring/correct/event_terms.hpp"

namespace tofstream {
namespace {

/// What corrects events on a backend. Half of a GPU's memory that was free at first is left to other uses.
class Means {
 public:
  Means(Backend backend, const ReadMuMaps& mu) : corrector_(backend) {
    if (mu.object) attenuation_.emplace(*mu.object, backend);
    if (mu.hardware) hardware_.emplace(*mu.hardware, backend);
    if (backend == Backend::cuda) least_free_ = free_device_bytes() / 2;
  }

  EventCorrector& corrector() { return corrector_; }
  void set_attenuation(EventTerms& terms) const {
    terms.attenuation = attenuation_ ? &*attenuation_ : nullptr;
    terms.hardware = hardware_ ? &*hardware_ : nullptr;
  }

  /// Whether the batch goes to the GPU that corrects it, which then has room for it and its terms. Events with free
  /// ends stay where they are.
  bool takes(const EventBatch& batch) {
    constexpr std::size_t terms_bytes = 2 * sizeof(float);
    return corrector_.backend() == Backend::cuda && batch.detectors &&
           has_room(batch.bytes() + terms_bytes * static_cast<std::size_t>(batch.count));
  }

 private:
  // Free memory is asked for seldom, since that is slow.
  bool has_room(std::size_t bytes) {
    if (bytes > granted_) {
      const std::size_t grant = std::max(bytes, std::size_t{256} << 20);
      if (free_device_bytes() < least_free_ + grant) return false;
      granted_ = grant;
    }
    granted_ -= bytes;
    return true;
  }

  EventCorrector corrector_;
  std::optional<Attenuation> attenuation_, hardware_;
  std::size_t least_free_ = 0, granted_ = 0;
};

struct EventCorrections {
  using Params = EventCorrectionsParams;
  static constexpr auto params = Params::params;
  static constexpr bool own_thread = true;  // emits all events from flush if it held them back
  static constexpr bool harmless = true;
  // Batches that are brought to the GPU at a time.
  static constexpr std::size_t at_a_time = 4;
  // Events of 12 B and their two terms; with a GPU also the lines' integrals there, and on the host the page-locked
  // memory through which batches are copied.
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) {
    return {.host_bytes = wants_cuda(p.backend) ? memory_product(at_a_time, inputs[0]) : 0,
            .device_bytes = wants_cuda(p.backend) ? inputs[0] / 12 * 4 : 0,
            .message_bytes = inputs[0] / 12 * 20,
            .gives_on_device = wants_cuda(p.backend),
            .note =
                "the mu map, on a GPU with its voxels' neighbours (36 bytes a voxel), and the scatter estimate; with "
                "randoms from the delayeds or singles of the whole scan all its events"};
  }

  EventCorrections(const Params& p, Context& context)
      : p_(p),
        backend_(p.backend),
        half_life_s_(half_life_of(p.decay)),
        randoms_(p.randoms, p.randoms.from == RandomsFrom::delayeds ? half_life_s_ : 0) {
    check(p);
    mu_ = read_mu_maps(p.mu_map, p.hardware_mu_map, context.name());
    if (p.normalisation.from == NormalisationFrom::file)
      components_ = formats::read_normalisation(p.normalisation.file);
    if (!p.dead_time.file.empty()) live_time_.emplace(formats::read_dead_times(p.dead_time.file));
    if (p.scatter.file.empty()) return;
    scatter_ = std::make_shared<const ScatterEstimate>(read_scatter(p.scatter.file));
    scatter_lines_ = std::make_shared<const ScatterEstimate>(scatter_->without_tof());
  }

  void process(EventBatch batch, Emit<EventBatch>& emit, Context& context) {
    leave_out_what_is_not_needed(batch, context);
    if (batch.singles) {
      take_singles(batch, context);
      return release(emit, context);
    }
    if (!live_time_) return take(std::move(batch), emit, context);
    if (batch.exposure != 1 || batch.live)
      throw std::runtime_error(
          "the events already state live fractions: leave out dead_time.file, or let the decoder ignore theirs "
          "(dead_time: "
          "false)");
    held_.push_back(std::move(batch));
    release(emit, context);
  }

  // Simulated events may say that they lack what is to be corrected; they say so from the first batch on.
  void leave_out_what_is_not_needed(const EventBatch& batch, Context& context) {
    if (!batch.quantity) return;
    const auto is_needless = [&](Correction correction) {
      return (*batch.quantity)[correction].state == CorrectionState::not_needed;
    };
    const auto how = [&](Correction correction) { return (*batch.quantity)[correction].how; };
    if (half_life_s_ > 0 && is_needless(Correction::decay)) {
      context.log().info(
          fmt::format("the events say that their activity does not decay ({}): nothing is corrected for it",
                      how(Correction::decay)));
      p_.decay = {};
      half_life_s_ = 0;
      randoms_ = RandomsInTime(p_.randoms, 0);
    }
    if (scatter_ && is_needless(Correction::scatter)) {
      context.log().warning(fmt::format("the events say that they have no scatter ({}): scatter.file is left out",
                                        how(Correction::scatter)));
      scatter_ = scatter_lines_ = nullptr;
    }
  }

  void take(EventBatch batch, Emit<EventBatch>& emit, Context& context) {
    if (batch.delayed) return take_delayeds(batch, context);
    if (scatter_) require_still(batch, "scatter.file");
    randoms_.add_prompts(batch);
    seconds_ += batch.duration_s;
    has_prompts_ = has_prompts_ || batch.count > 0;
    has_live_time_ = has_live_time_ || (!live_time_ && batch.exposure != 1);
    if (is_estimated() && p_.randoms.use == RandomsUse::whole_scan) {
      if (waiting_.empty()) emit(announced_ = announcement_of(batch));
      waiting_.push_back(std::move(batch));
      prepare_waiting(Wait::no);
    } else {
      if (means().takes(batch)) batch = bring_to_device(batch);
      set_multiplicative(batch);
      emit(with_additive(std::move(batch)));
    }
  }

  void flush(Emit<EventBatch>& emit, Context& context) {
    warn_of_no_more_singles(context);
    singles_until_s_ = std::numeric_limits<double>::infinity();
    release(emit, context);
    if (!waiting_.empty()) {
      if (p_.randoms.from == RandomsFrom::singles && has_prompts_ && !randoms_.has_any())
        throw std::runtime_error(no_singles);
      // Batches that are not yet on the GPU are copied there while the CPU fits the randoms.
      auto fit = std::async(std::launch::async, [&] { randoms_.fit_all(scanner_of(announced_)); });
      prepare_waiting(Wait::for_all);
      fit.get();
    }
    for (EventBatch& batch : waiting_) emit(with_additive(std::exchange(batch, {})));
    waiting_.clear();
    if (is_estimated()) report_randoms(context);
    if (half_life_s_ > 0) context.report("half_life_s", half_life_s_);
    if (live_time_ && seconds_ > 0) context.report("live_fraction", live_s_ / seconds_);
  }

 private:
  static void check(const Params& p) {
    const auto require = [](bool holds, const char* what) {
      if (!holds) throw std::invalid_argument(what);
    };
    require((p.normalisation.from == NormalisationFrom::file) == !p.normalisation.file.empty(),
            "normalisation: `file` goes with `from: file`, and `from: file` with `file`");
    require((p.randoms.from == RandomsFrom::rate) == (p.randoms.rate_cps > 0),
            "randoms: `rate_cps` goes with `from: rate`, and `from: rate` with `rate_cps`");
    require(p.dead_time.file.empty() || p.dead_time.live_fraction == 1,
            "dead_time: give `live_fraction` or `file`, not both");
    require(p.randoms.interval_s == 0 || is_estimated(p.randoms.from),
            "randoms: `interval_s` goes with `from: delayeds` or `from: singles`");
    require(p.randoms.window_ns == 0 || p.randoms.from == RandomsFrom::singles,
            "randoms: `window_ns` goes with `from: singles`");
  }

  // No events: later gadgets can prepare for the scanner while the events wait.
  EventBatch announcement_of(const EventBatch& batch) {
    return {.scanner = batch.scanner ? normalised(batch.scanner) : nullptr,
            .detectors = batch.detectors,
            .live = batch.live,
            .pose = batch.pose};
  }

  static bool is_estimated(RandomsFrom from) { return from == RandomsFrom::delayeds || from == RandomsFrom::singles; }
  bool is_estimated() const { return is_estimated(p_.randoms.from); }

  static constexpr const char* no_singles =
      "no singles histogram came, so randoms cannot be estimated from singles: the recording has none, or the decoder "
      "gives only prompts (its `events: both` gives them too)";

  void report_randoms(Context& context) {
    if (!randoms_.has_any()) return warn_of_no_randoms(context);
    randoms_.finish();
    context.report("randoms_from", randoms_.in_words());
    if (const double cps = randoms_.mean_cps(); cps > 0) context.report("randoms_cps", cps);
    if (p_.randoms.interval_s > 0) report_intervals(context);
    if (randoms_.below_prompts() > 0)
      context.log().warning(
          fmt::format("{} detectors have fewer singles than their prompts need: their randoms are taken as 0",
                      randoms_.below_prompts()));
    if (has_live_time_ && p_.randoms.from == RandomsFrom::singles)
      context.log().warning(
          "the stream states live fractions, and randoms from singles are not lessened by what pairs of modules lose: "
          "from: delayeds has that in it");
  }

  void warn_of_no_randoms(Context& context) const {
    const bool needed = !quantity_ || (*quantity_)[Correction::randoms].state != CorrectionState::not_needed;
    if (!needed || !(seconds_ > 0)) return;
    if (p_.randoms.from == RandomsFrom::singles) return context.log().warning(no_singles);
    context.log().warning(
        "no delayed coincidence came, so randoms are not corrected: the recording has none, or the decoder gives "
        "only prompts (its `events: both` gives the delayeds too)");
  }

  void report_intervals(Context& context) const {
    const std::vector<double> rates = randoms_.cps_of_intervals();
    for (const double cps : rates) context.append("randoms_cps_of_intervals", cps);
    context.log().info(fmt::format("randoms from {}: {} intervals of {:g} s", randoms_.in_words(), rates.size(),
                                   p_.randoms.interval_s));
    const std::int64_t without = randoms_.intervals_without();
    if (without == 0) return;
    const bool of_delayeds = p_.randoms.from == RandomsFrom::delayeds;
    context.report(of_delayeds ? "intervals_without_delayeds" : "intervals_without_singles", without);
    context.log().warning(fmt::format(
        "{} of {} intervals of {:g} s have no {}: randoms are not corrected in them; give a longer randoms.interval_s",
        without, rates.size(), p_.randoms.interval_s, of_delayeds ? "delayed coincidence" : "singles histogram"));
  }

  void take_singles(const EventBatch& batch, Context& context) {
    if (live_time_) {
      live_time_->add(batch);
      singles_until_s_ = std::max(singles_until_s_, batch.singles->start_s + batch.singles->duration_s);
    }
    if (p_.randoms.from != RandomsFrom::singles) return;
    randoms_.add_singles(batch);
    context.report("singles_histograms", ++histograms_);
  }

  // The last histogram holds on for the events behind it.
  void warn_of_no_more_singles(Context& context) const {
    double behind_s = 0;
    for (const EventBatch& batch : held_)
      if (!batch.delayed)
        behind_s += std::clamp(batch.start_s + batch.duration_s - singles_until_s_, 0.0, batch.duration_s);
    constexpr double visible = 0.01;
    if (behind_s <= visible * (seconds_ + behind_s)) return;
    context.report("behind_singles_s", behind_s);
    context.log().warning(fmt::format(
        "no singles histogram came for the last {:g} s of events, whose dead time is taken to be that of the "
        "last one",
        behind_s));
  }

  // Events whose dead time follows from singles wait for the histograms of their time.
  void release(Emit<EventBatch>& emit, Context& context) {
    constexpr double rounding_s = 1e-3;
    while (!held_.empty() && held_.front().start_s + held_.front().duration_s <= singles_until_s_ + rounding_s) {
      EventBatch batch = std::move(held_.front());
      held_.pop_front();
      if (batch.count > 0 || batch.duration_s > 0) {
        const double live = live_time_->mean(batch);
        batch.live = live_time_->pattern(batch);
        batch.exposure = live;
        constexpr double latest_s = 60;  // delayeds and other pairs of types may come so much later
        live_time_->forget_before(batch.start_s - latest_s);
        if (!batch.delayed) live_s_ += live * batch.duration_s;
      }
      take(std::move(batch), emit, context);
    }
  }

  void take_delayeds(const EventBatch& batch, Context& context) {
    const bool used = p_.randoms.from == RandomsFrom::delayeds;
    context.books().rejected(batch.event_count(), used ? "delayed coincidences, which estimate the randoms"
                                                       : "delayed coincidences, not used");
    if (used && batch.count > 0) randoms_.add_delayeds(batch);
  }

  // The first use of a GPU sets it up, which takes some tenths of a second; events that come meanwhile wait.
  bool are_means_ready() {
    if (means_) return true;
    if (!coming_.valid())
      coming_ = std::async(p_.backend == BackendChoice::cpu ? std::launch::deferred : std::launch::async,
                           [this] { return std::make_unique<Means>(backend_, mu_); });
    if (!is_there(coming_)) return false;
    means_ = coming_.get();
    return true;
  }

  Means& means() {
    if (!are_means_ready()) means_ = coming_.get();
    return *means_;
  }

  // Does what does not depend on the randoms while events wait for these. Some batches are copied to the GPU at a time,
  // while the terms of earlier ones are looked up.
  enum class Wait { no, for_all };
  void prepare_waiting(Wait wait) {
    if (wait == Wait::no && !are_means_ready()) return;
    while (prepared_ < waiting_.size()) {
      while (prepared_ + bringing_.size() < waiting_.size() && bringing_.size() < at_a_time)
        bringing_.push_back(bring(std::exchange(waiting_[prepared_ + bringing_.size()], {})));
      if (wait == Wait::no && !is_there(bringing_.front())) return;
      EventBatch batch = bringing_.front().get();
      bringing_.pop_front();
      set_multiplicative(batch);
      waiting_[prepared_++] = std::move(batch);
    }
  }

  std::future<EventBatch> bring(EventBatch batch) {
    const bool goes = means().takes(batch);
    return std::async(goes ? std::launch::async : std::launch::deferred, [goes, here = std::move(batch)]() mutable {
      return goes ? bring_to_device(here) : std::move(here);
    });
  }

  template <class T>
  static bool is_there(const std::future<T>& future) {
    return future.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
  }

  void set_multiplicative(EventBatch& batch) {
    EventTerms terms;
    if (batch.scanner) batch.scanner = normalised(batch.scanner);
    means().set_attenuation(terms);
    terms.exposure = exposure_of(batch, p_.dead_time, p_.decay);
    means().corrector().set_multiplicative(batch, terms);
  }

  // Beside terms of whole lines ToF would mislead whoever projects the events.
  EventBatch with_additive(EventBatch batch) {
    set_additive(batch);
    if (!p_.tof) batch.tof_mm = batch.tof_width_mm = {};
    return batch;
  }

  void set_additive(EventBatch& batch) {
    const bool has_tof = p_.tof && !batch.tof_mm.empty() && batch.tof.sigma_mm > 0;
    EventTerms terms;
    terms.scatter = has_tof ? scatter_ : scatter_lines_;
    if (p_.randoms.from == RandomsFrom::rate) terms.randoms = randoms_at_rate(batch);
    if (is_estimated()) {
      randoms_.fit(batch);
      const RandomsInTime::Rate rate = randoms_.of(batch);
      terms.randoms = rate.model;
      terms.randoms_scale = rate.scale;
    }
    terms.reference_s = p_.reference_s;
    terms.skip_unrecorded = components_ && std::ranges::count(components_->crystal_efficiency, 0.0f) > 0;
    terms.tof = p_.tof;
    means().corrector().set_additive(batch, terms);
    batch.quantity = quantity_after(batch.quantity);
  }

  // Made once for all events with the same quantity. Attenuation is corrected for by the sensitivity: the projector
  // says whether it is.
  std::shared_ptr<const Quantity> quantity_after(const std::shared_ptr<const Quantity>& before) {
    const bool has_randoms = randoms_.has_any();
    if (quantity_ && before == quantity_before_ && has_randoms == quantity_has_randoms_) return quantity_;
    quantity_before_ = before;
    quantity_has_randoms_ = has_randoms;
    Quantity after = before ? *before : Quantity{};
    const auto made = [&](Correction correction, std::string how) {
      after[correction] = {CorrectionState::made, std::move(how)};
    };
    after.attenuated_by = mu_.by;
    if (components_) {
      made(Correction::normalisation, p_.normalisation.file.string());
      if (components_->calibration > 0 && !components_->unit.empty()) {
        after.unit = components_->unit;
        after.scale = "calibration of " + p_.normalisation.file.string();
      }
    }
    if (p_.normalisation.from == NormalisationFrom::none) leave_out_normalisation(after);
    if (p_.randoms.from == RandomsFrom::rate) made(Correction::randoms, fmt::format("{:g} cps", p_.randoms.rate_cps));
    if (is_estimated() && has_randoms)
      made(Correction::randoms, randoms_.in_words());
    else if (is_estimated() && after[Correction::randoms].state != CorrectionState::not_needed)
      after[Correction::randoms] = {CorrectionState::not_made, p_.randoms.from == RandomsFrom::delayeds
                                                                   ? "no delayed coincidence has come"
                                                                   : "no singles histogram has come"};
    if (scatter_) made(Correction::scatter, p_.scatter.file.string());
    if (p_.dead_time.live_fraction != 1)
      made(Correction::dead_time, fmt::format("live fraction {:g}", p_.dead_time.live_fraction));
    if (live_time_) made(Correction::dead_time, p_.dead_time.file.string() + ", by singles");
    if (half_life_s_ > 0) correct_for_decay(after, {half_life_s_, p_.decay.reference_time_s});
    if (p_.randoms.from != RandomsFrom::none || scatter_) after.reference_s = p_.reference_s;
    return quantity_ = std::make_shared<const Quantity>(std::move(after));
  }

  static void leave_out_normalisation(Quantity& quantity) {
    CorrectionRecord& record = quantity[Correction::normalisation];
    if (record.state == CorrectionState::made) record.state = CorrectionState::called_for;
    record.how = "normalisation: none";
    quantity.unit.clear();
    quantity.scale = "efficiencies are left out (normalisation: none)";
  }

  std::shared_ptr<const Scanner> normalised(const std::shared_ptr<const Scanner>& scanner) {
    if (p_.normalisation.from == NormalisationFrom::scanner) return scanner;
    if (scanner != original_) {
      original_ = scanner;
      replaced_ = components_ ? with_normalisation(*scanner, *components_) : without_normalisation(*scanner);
    }
    return replaced_;
  }

  static const Scanner& scanner_of(const EventBatch& batch) {
    if (!batch.scanner) throw std::runtime_error("randoms need events that say which scanner recorded them");
    return *batch.scanner;
  }

  const std::shared_ptr<const RandomsModel>& randoms_at_rate(const EventBatch& batch) {
    if (!at_rate_)
      at_rate_ = std::make_shared<const RandomsModel>(randoms_of_rate(scanner_of(batch), p_.randoms.rate_cps));
    return at_rate_;
  }

  Params p_;
  GadgetBackend backend_;
  double half_life_s_;  // 0: no decay
  std::optional<NormalisationComponents> components_;
  std::optional<ModuleLiveTime> live_time_;                            // by singles
  double singles_until_s_ = -std::numeric_limits<double>::infinity();  // that have come
  double live_s_ = 0;
  std::deque<EventBatch> held_;  // until the singles of their time have come
  ReadMuMaps mu_;
  std::shared_ptr<const ScatterEstimate> scatter_, scatter_lines_;
  std::shared_ptr<const Quantity> quantity_before_, quantity_;  // of the last events, before and after correction
  bool quantity_has_randoms_ = false;
  std::shared_ptr<const Scanner> original_, replaced_;
  RandomsInTime randoms_;
  double seconds_ = 0;  // of the prompts
  bool has_prompts_ = false, has_live_time_ = false;
  std::int64_t histograms_ = 0;  // of singles
  std::shared_ptr<const RandomsModel> at_rate_;
  std::unique_ptr<Means> means_;
  std::future<std::unique_ptr<Means>> coming_;
  EventBatch announced_;  // without events; has the scanner of those that wait
  std::vector<EventBatch> waiting_;
  std::size_t prepared_ = 0;                      // how many waiting batches have their multiplicative terms
  std::deque<std::future<EventBatch>> bringing_;  // the batches after these, on their way to the GPU
};

TOFSTREAM_GADGET(EventCorrections, "event_corrections",
                 "Corrects list mode for attenuation, normalisation, randoms, scatter, dead time and decay");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
