// Photon pairs by Monte Carlo in slices of scanner time: see event_simulator.hpp.
#include "kernels/ring/simulate/event_simulator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "kernels/correct/decay.hpp"
#include "kernels/math/units.hpp"
#include "kernels/ring/correct/randoms.hpp"
#include "kernels/ring/simulate/decay_sampler.hpp"
#include "kernels/ring/simulate/pair_follower.hpp"
#include "kernels/ring/simulate/scattered_pairs.hpp"
#include "kernels/simulate/random.hpp"

namespace tofstream {
namespace {

constexpr double trials_per_slice = 4096;  // small: a batch of given count ends within its last one
constexpr std::uint64_t pilot_streams = std::uint64_t{1} << 63;  // numbers that no slice reaches
constexpr std::uint64_t most_pilots = 4096;
constexpr std::uint64_t delayed_streams = std::uint64_t{1} << 62;
constexpr std::uint64_t singles_streams = std::uint64_t{3} << 61;
constexpr double decayed_share = 1e-6;  // share of the activity below which no events are waited for
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// The events of a stretch of scanner time that has its own random numbers.
struct Slice {
  SeenPairs seen;
  std::vector<SeenPair> delayeds;
  SimulationTruth truth;
  double trials = 0;    // drawn
  double fraction = 1;  // of the slice's time that passed when the limit of events was reached
};

/// The scanner time of a slice, with its own random numbers.
struct SliceTime {
  std::uint64_t stream;
  double start_s, duration_s;
};

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

const SimulationOptions& checked(const SimulationOptions& o) {
  require(o.activity_scale > 0 && std::isfinite(o.activity_scale), "simulation: activity_scale must be positive");
  require(o.randoms_cps >= 0 && o.randoms_cps <= 1e12, "simulation: randoms_cps must lie in [0, 1e12]");
  require(o.acollinearity_fwhm_deg >= 0 && o.acollinearity_fwhm_deg <= 5,
          "simulation: acollinearity_fwhm_deg must lie in [0, 5]");
  require(o.positron_range_fwhm_mm >= 0 && o.positron_range_fwhm_mm <= 50,
          "simulation: positron_range_fwhm_mm must lie in [0, 50]");
  require(!o.scatter || o.attenuation, "simulation: what is not attenuated is not scattered");
  require(o.half_life_s >= 0 && std::isfinite(o.half_life_s),
          "simulation: half_life_s must be finite and not negative");
  require(o.start_s >= 0 && std::isfinite(o.start_s), "simulation: start_s must be finite and not negative");
  require(!o.singles || o.randoms_cps > 0,
          "simulation: singles are as many as make randoms: give randoms_cps, or leave singles out");
  return o;
}

}  // namespace

SimulationTruth& SimulationTruth::operator+=(const SimulationTruth& o) {
  decays += o.decays;
  trues += o.trues;
  randoms += o.randoms;
  scattered += o.scattered;
  scattered_more += o.scattered_more;
  outside_tof_window += o.outside_tof_window;
  return *this;
}

struct EventSimulator::Model {
  RingScanner ring;
  Phantom phantom;
  SimulationOptions options;
  double acollinearity_rad, range_mm;  // sigmas
  std::shared_ptr<const Scanner> scanner;
  PairFollower follower;
  DecaySampler decays;
  std::optional<ScatteredPairs> scattered;
  std::optional<DecaySampler> scatter_phantom;
  double activity_Bq;
  double trial_rate;                // draws of decays, scatter and randoms, per second at the scan's start
  std::vector<double> singles_cps;  // of each detector at the scan's start
  mutable std::once_flag is_expected;
  mutable double expected = 0;  // by expected_cps()

  Model(const RingScanner& ring_, Phantom phantom_, const SimulationOptions& options_)
      : ring(ring_),
        phantom(std::move(phantom_)),
        options(checked(options_)),
        acollinearity_rad(options.acollinearity_fwhm_deg / fwhm_per_sigma * std::numbers::pi / 180),
        range_mm(options.positron_range_fwhm_mm / fwhm_per_sigma),
        scanner(make_scanner(ring)),
        follower(ring, phantom, *scanner, options.attenuation, acollinearity_rad),
        decays(sampler_of(phantom, Origin::decay)),
        activity_Bq(options.activity_scale * phantom.total_activity_Bq()),
        trial_rate(options.activity_scale * decays.rate() + options.randoms_cps) {
    if (options.scatter) {
      scattered.emplace(phantom, energy_of(ring), DecayBlur{acollinearity_rad, range_mm});
      trial_rate += scatter_rate();
    }
    if (options.scatter_phantom) {
      scatter_phantom.emplace(sampler_of(*options.scatter_phantom, Origin::scatter_phantom));
      trial_rate += scatter_phantom->rate();
    }
    if (options.singles) {
      const RandomsModel randoms = randoms_of_rate(*scanner, options.randoms_cps);
      for (const float factor : randoms.factor)
        singles_cps.push_back(static_cast<double>(factor) / std::sqrt(window_s()));
    }
    require_seen();
  }

  /// All differences of two photons' times that make a coincidence, from end to end.
  double window_s() const { return 4 * ring.tof_window_mm() / speed_of_light_mm_ps * 1e-12; }

  /// Mean activity over a stretch, and mean of its square, relative to the scan's start.
  double activity_over(double start_s, double duration_s) const {
    return options.half_life_s > 0 ? mean_decay(start_s, duration_s, options.half_life_s) : 1.0;
  }
  double squared_over(double start_s, double duration_s) const {
    return options.half_life_s > 0 ? mean_decay(start_s, duration_s, 0.5 * options.half_life_s) : 1.0;
  }

  static EnergyAcceptance energy_of(const RingScanner& ring) {
    return {.low_keV = ring.energy_low_keV, .high_keV = ring.energy_high_keV, .resolution = ring.energy_resolution};
  }

  // Photons interact at or behind the inner radius, so that a line which leaves the crystals' length before it is not
  // recorded; bent lines get some more.
  DecaySampler sampler_of(const Phantom& source, Origin origin) const {
    return {source,
            {ring.inner_radius_mm, 0.5 * ring.axial_length_mm() + 10 * ring.inner_radius_mm * acollinearity_rad},
            [this, origin](const Decay& decay) { return follower.chance_of(decay, origin); },
            range_mm};
  }

  /// Draws a second of each origin, over a slice.
  struct Rates {
    double randoms, scatter_phantom, compton, all;
  };
  Rates rates_over(const SliceTime& time) const {
    if (options.half_life_s == 0)
      return {options.randoms_cps, scatter_phantom ? scatter_phantom->rate() : 0,
              scattered ? options.activity_scale * scattered->rate() : 0, trial_rate};
    const double activity = activity_over(time.start_s, time.duration_s);
    Rates rates{options.randoms_cps * squared_over(time.start_s, time.duration_s),
                scatter_phantom ? activity * scatter_phantom->rate() : 0,
                scattered ? activity * options.activity_scale * scattered->rate() : 0, 0};
    rates.all =
        activity * options.activity_scale * decays.rate() + rates.randoms + rates.scatter_phantom + rates.compton;
    return rates;
  }

  double scatter_rate() const { return scattered ? options.activity_scale * scattered->rate() : 0; }

  /// Draws of what the phantom does not scatter: of a decay's photons, wherever they fly, few are scattered and seen, so
  /// that these have a pilot of their own.
  Slice pilot(std::uint64_t number) const {
    const double slice_s = trials_per_slice / (trial_rate - scatter_rate());
    Rates rates = rates_over({pilot_streams, 0, slice_s});
    rates.all -= std::exchange(rates.compton, 0);
    return simulate({pilot_streams + number, 0, slice_s}, rates, no_limit);
  }

  void require_seen() const {
    for (std::uint64_t i = 0; i < most_pilots; ++i)
      if (pilot(i).truth.trues > 0) return;
    throw std::invalid_argument(fmt::format(
        "scanner {} sees no decay of phantom {}: move the phantom into its field of view", ring.name, phantom.name()));
  }

  double expected_cps() const {
    std::call_once(is_expected, [this] { expected = sampled_cps(); });
    return expected;
  }

  double sampled_cps() const {
    SimulationTruth truth;
    double trials = 0;
    for (std::uint64_t i = 0; i < most_pilots && truth.trues < 2500; ++i) {
      const Slice slice = pilot(i);
      truth += slice.truth;
      trials += slice.trials;
    }
    const double rate = trial_rate - scatter_rate();
    const double cps = static_cast<double>(truth.trues + truth.scattered) / trials * rate + options.randoms_cps;
    return scatter_rate() > 0 ? cps + scattered_cps(scatter_rate(), cps) : cps;
  }

  /// Seen pairs of `rate` draws a second that the phantom scattered, to 2% of these and of `others_cps` together.
  double scattered_cps(double rate, double others_cps) const {
    double seen = 0, trials = 0;
    const auto is_known = [&] { return std::sqrt(seen + 1) < 0.02 * (seen + others_cps / rate * trials); };
    for (std::uint64_t i = 0; i < most_pilots && (i < 1 || !is_known()); ++i) {
      const Slice slice = simulate({pilot_streams + most_pilots + i, 0, trials_per_slice / rate},
                                   {.randoms = 0, .scatter_phantom = 0, .compton = rate, .all = rate}, no_limit);
      seen += static_cast<double>(slice.truth.scattered);
      trials += slice.trials;
    }
    return seen / trials * rate;
  }

  Slice simulate(const SliceTime& time, std::int64_t max_events) const {
    return simulate(time, rates_over(time), max_events);
  }

  Slice simulate(const SliceTime& time, const Rates& rates, std::int64_t max_events) const {
    RandomStream random(options.seed, time.stream);
    Slice slice;
    const auto trials = std::poisson_distribution<std::int64_t>(rates.all * time.duration_s)(random);
    slice.trials = static_cast<double>(trials);
    for (std::int64_t i = 0; i < trials; ++i) {
      const Origin origin = drawn_origin(rates, random);
      if (origin == Origin::random)
        slice.seen.pairs.push_back(follower.draw_random(random));
      else if (origin == Origin::compton)
        follower.follow_scattered(slice.seen, *scattered, random);
      else if (const auto decay = origin == Origin::decay ? decays.draw(phantom, random)
                                                          : scatter_phantom->draw(*options.scatter_phantom, random))
        follower.follow(slice.seen, *decay, origin, random);
      if (static_cast<std::int64_t>(slice.seen.pairs.size()) >= max_events) {
        slice.seen.pairs.resize(static_cast<std::size_t>(max_events), SeenPair{});
        slice.fraction = static_cast<double>(i + 1) / static_cast<double>(trials + 1);
        break;
      }
    }
    slice.truth.decays =
        activity_Bq * time.duration_s * slice.fraction * activity_over(time.start_s, time.duration_s * slice.fraction);
    for (const SeenPair& pair : slice.seen.pairs) {
      ++count_of(slice.truth, pair.origin);
      slice.truth.scattered_more += pair.scatters > 1 ? 1 : 0;
    }
    slice.truth.outside_tof_window = slice.seen.outside_tof_window;
    if (options.delayeds) add_delayeds(slice, {time.stream, time.start_s, time.duration_s * slice.fraction});
    return slice;
  }

  /// By the rates of what is drawn.
  Origin drawn_origin(const Rates& rates, RandomStream& random) const {
    double left = random.uniform() * rates.all - rates.randoms;
    if (left < 0) return Origin::random;
    if (scatter_phantom && (left -= rates.scatter_phantom) < 0) return Origin::scatter_phantom;
    if (scattered && (left -= rates.compton) < 0) return Origin::compton;
    return Origin::decay;
  }

  static std::uint64_t& count_of(SimulationTruth& truth, Origin origin) {
    if (origin == Origin::random) return truth.randoms;
    return origin == Origin::decay ? truth.trues : truth.scattered;
  }

  // Delayeds have random numbers of their own, so that prompts are the same with and without them.
  void add_delayeds(Slice& slice, const SliceTime& time) const {
    RandomStream random(options.seed, delayed_streams + time.stream);
    const double mean = options.randoms_cps * squared_over(time.start_s, time.duration_s) * time.duration_s;
    std::int64_t count = 0;
    if (mean > 0) count = std::poisson_distribution<std::int64_t>(mean)(random);
    for (std::int64_t i = 0; i < count; ++i) slice.delayeds.push_back(follower.draw_random(random));
  }

  /// Slices [first, first + count) of equal duration, in parallel.
  std::vector<Slice> simulate_many(const SliceTime& first, std::size_t count) const {
    std::vector<Slice> slices(count);
    tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
      slices[i] = simulate(
          {first.stream + i, first.start_s + static_cast<double>(i) * first.duration_s, first.duration_s}, no_limit);
    });
    return slices;
  }

  std::shared_ptr<const SinglesCounts> singles_of(const SliceTime& time) const {
    RandomStream random(options.seed, singles_streams + time.stream);
    const double seconds = time.duration_s * activity_over(time.start_s, time.duration_s);
    auto singles = std::make_shared<SinglesCounts>(
        SinglesCounts{.start_s = time.start_s, .duration_s = time.duration_s, .counts = {}, .window_s = window_s()});
    for (const double cps : singles_cps)
      singles->counts.push_back(std::poisson_distribution<std::uint64_t>(cps * seconds)(random));
    return singles;
  }

  SimulatedEvents assemble(std::span<const Slice> slices, const SliceTime& time) const {
    const double start_s = time.start_s, duration_s = time.duration_s;
    SimulatedEvents result;
    if (options.singles) result.singles = singles_of(time);
    for (const Slice& slice : slices) result.truth += slice.truth;
    result.events = batch_of(
        slices, [](const Slice& slice) -> const auto& { return slice.seen.pairs; }, start_s, duration_s);
    result.delayeds = batch_of(
        slices, [](const Slice& slice) -> const auto& { return slice.delayeds; }, start_s, duration_s);
    result.delayeds.delayed = true;
    result.is_random.reserve(static_cast<std::size_t>(result.events.count));
    result.scatters.reserve(static_cast<std::size_t>(result.events.count));
    for (const Slice& slice : slices)
      for (const SeenPair& pair : slice.seen.pairs) {
        result.is_random.push_back(pair.origin == Origin::random ? 1 : 0);
        result.scatters.push_back(pair.scatters);
      }
    return result;
  }

  template <class PairsOf>
  EventBatch batch_of(std::span<const Slice> slices, const PairsOf& pairs_of, double start_s, double duration_s) const {
    const bool has_tof = ring.tof_sigma_mm() > 0;
    EventBatch events;
    for (const Slice& slice : slices) events.count += static_cast<std::int64_t>(pairs_of(slice).size());
    events.scanner = scanner;
    events.detectors = scanner->detectors;
    events.start_s = start_s;
    events.duration_s = duration_s;
    events.detector1 = Buffer<std::uint32_t>(Memory::host, events.count);
    events.detector2 = Buffer<std::uint32_t>(Memory::host, events.count);
    if (has_tof) {
      events.tof = scanner->tof.front();
      events.tof_mm = Buffer<float>(Memory::host, events.count);
    }
    std::int64_t at = 0;
    for (const Slice& slice : slices)
      for (const SeenPair& pair : pairs_of(slice)) {
        events.detector1[at] = pair.detector1;
        events.detector2[at] = pair.detector2;
        if (has_tof) events.tof_mm[at] = pair.tof_mm;
        ++at;
      }
    return events;
  }
};

EventSimulator::EventSimulator(const RingScanner& ring, Phantom phantom, SimulationOptions options)
    : model_(std::make_unique<const Model>(ring, std::move(phantom), options)), next_start_s_(options.start_s) {}
EventSimulator::~EventSimulator() = default;
EventSimulator::EventSimulator(EventSimulator&&) noexcept = default;
EventSimulator& EventSimulator::operator=(EventSimulator&&) noexcept = default;

SimulatedEvents EventSimulator::next_seconds(double duration_s) {
  require(duration_s > 0 && std::isfinite(duration_s), "simulation: duration_s must be positive");
  if (model_->expected_cps() * duration_s >= 0x1p31)
    throw std::invalid_argument(fmt::format("simulation: {} s would hold {:.3g} events at once; ask for shorter times",
                                            duration_s, model_->expected_cps() * duration_s));
  const auto slices =
      static_cast<std::size_t>(std::ceil(std::max(1.0, model_->trial_rate * duration_s / trials_per_slice)));
  const double start_s = std::exchange(next_start_s_, next_start_s_ + duration_s);
  const std::uint64_t first = std::exchange(next_slice_, next_slice_ + slices);
  return model_->assemble(model_->simulate_many({first, start_s, duration_s / static_cast<double>(slices)}, slices),
                          {first, start_s, duration_s});
}

SimulatedEvents EventSimulator::next_events(std::int64_t count) {
  require(count > 0 && count < std::int64_t{1} << 31,
          "simulation: a batch holds at least one and fewer than 2^31 events");
  const double slice_s = trials_per_slice / model_->trial_rate;
  const std::uint64_t first = next_slice_;
  std::vector<Slice> slices;
  std::int64_t missing = count;
  double duration_s = 0;
  while (missing > 0) {
    const double now_s = next_start_s_ + duration_s;
    if (model_->activity_over(now_s, 0) < decayed_share)
      throw std::runtime_error(
          fmt::format("the activity has decayed after {:g} s, before {} more events came: ask for fewer events, or for "
                      "seconds",
                      now_s, missing));
    if (missing < count) per_slice_ = static_cast<double>(count - missing) / static_cast<double>(slices.size());
    const double wanted = per_slice_ > 0 ? std::ceil(static_cast<double>(missing) / per_slice_) + 1
                                         : 2 + 2 * static_cast<double>(slices.size());
    const auto wave = static_cast<std::size_t>(std::clamp(wanted, 1.0, 65536.0));
    for (Slice& slice : model_->simulate_many({next_slice_, now_s, slice_s}, wave)) {
      const std::uint64_t stream = next_slice_++;
      if (static_cast<std::int64_t>(slice.seen.pairs.size()) >= missing)
        slice = model_->simulate({stream, next_start_s_ + duration_s, slice_s}, missing);
      missing -= static_cast<std::int64_t>(slice.seen.pairs.size());
      duration_s += slice.fraction * slice_s;
      slices.push_back(std::move(slice));
      if (missing == 0) break;
    }
  }
  const double start_s = std::exchange(next_start_s_, next_start_s_ + duration_s);
  return model_->assemble(slices, {first, start_s, duration_s});
}

const std::shared_ptr<const Scanner>& EventSimulator::scanner() const {
  return model_->scanner;
}
const Phantom& EventSimulator::phantom() const {
  return model_->phantom;
}
double EventSimulator::expected_cps() const {
  return model_->expected_cps();
}

double EventSimulator::randoms_per_pair() const {
  const RingScanner& ring = model_->ring;
  const auto modules = static_cast<std::uint32_t>(ring.modules());
  double pairs = 0;
  for (std::uint32_t m1 = 0; m1 < modules; ++m1)
    for (std::uint32_t m2 = 0; m2 < m1; ++m2) pairs += model_->follower.in_coincidence(m1, m2) ? 1 : 0;
  pairs *= static_cast<double>(ring.elements()) * static_cast<double>(ring.elements());
  const double per_pair = model_->options.randoms_cps / pairs;
  return ring.tof_sigma_mm() > 0 ? per_pair / (2 * ring.tof_window_mm()) : per_pair;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
