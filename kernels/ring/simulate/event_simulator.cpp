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
#include "kernels/math/crystal_stopping.hpp"
#include "kernels/math/units.hpp"
#include "kernels/ring/correct/randoms.hpp"
#include "kernels/ring/simulate/decay_sampler.hpp"
#include "kernels/ring/simulate/ring_tracer.hpp"
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

enum class Origin { decay, compton, scatter_phantom, random };

struct Record {
  std::uint32_t detector1, detector2;
  float tof_mm;
  Origin origin;
  std::uint8_t scatters = 0;
};

/// The events of a stretch of scanner time that has its own random numbers.
struct Slice {
  std::vector<Record> records, delayeds;
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
  RingTracer tracer;
  DecaySampler decays;
  std::optional<ScatteredPairs> scattered;
  std::optional<DecaySampler> scatter_phantom;
  double window_mm, sigma_mm, bin_mm;
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
        tracer(ring),
        decays(sampler_of(phantom, Origin::decay)),
        window_mm(ring.tof_window_mm()),
        sigma_mm(ring.tof_sigma_mm()),
        bin_mm(ring.tof_bin_mm()),
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
  double window_s() const { return 4 * window_mm / speed_of_light_mm_ps * 1e-12; }

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
            [this, origin](const Decay& decay) { return chance_of(decay, origin); },
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
        slice.records.push_back(draw_random(random));
      else if (origin == Origin::compton)
        follow_scattered(slice, random);
      else if (const auto decay = origin == Origin::decay ? decays.draw(phantom, random)
                                                          : scatter_phantom->draw(*options.scatter_phantom, random))
        follow(slice, *decay, origin, random);
      if (static_cast<std::int64_t>(slice.records.size()) >= max_events) {
        slice.records.resize(static_cast<std::size_t>(max_events), Record{});
        slice.fraction = static_cast<double>(i + 1) / static_cast<double>(trials + 1);
        break;
      }
    }
    slice.truth.decays =
        activity_Bq * time.duration_s * slice.fraction * activity_over(time.start_s, time.duration_s * slice.fraction);
    for (const Record& record : slice.records) {
      ++count_of(slice.truth, record.origin);
      slice.truth.scattered_more += record.scatters > 1 ? 1 : 0;
    }
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
    for (std::int64_t i = 0; i < count; ++i) slice.delayeds.push_back(draw_random(random));
  }

  double survival(Vec3d point, Vec3d direction, Origin origin) const {
    if (!options.attenuation || origin == Origin::scatter_phantom) return 1.0;
    return std::exp(-phantom.line_attenuation(point, direction));
  }

  /// The chance that two crystals record what reaches them.
  bool recorded_by(std::uint32_t one, std::uint32_t two, RandomStream& random) const {
    const std::vector<float>& crystals = scanner->bin_efficiency;
    return crystals.empty() ||
           random.uniform() < static_cast<double>(crystals[one]) * static_cast<double>(crystals[two]);
  }

  /// The chance that two opposite photons leave the phantom and interact before they leave the crystals' backs.
  double chance_of(const Decay& decay, Origin origin) const {
    const Vec3d p = decay.point_mm, u = decay.direction;
    return tracer.stopping(tracer.enter(p, u, decay.ahead_mm)) *
           tracer.stopping(tracer.enter(p, -1.0 * u, decay.behind_mm)) * survival(p, u, origin);
  }

  /// Where a photon interacts, given that it does so before the back of the slab that it enters;
  /// `weight` is multiplied by the chance of that.
  std::optional<RingTracer::Hit> detected(Vec3d point, Vec3d direction, double circle_mm, double& weight,
                                          RandomStream& random, double attenuation = 1) const {
    const RingTracer::Entry entry = tracer.enter(point, direction, circle_mm);
    const double stopped = tracer.stopping(entry, attenuation);
    weight *= stopped;
    return tracer.interact(point, direction, entry, -std::log(1 - stopped * random.uniform()) / attenuation);
  }

  /// A decay's photons from its place to its record or its loss. Both are made to interact in the
  /// slabs that they enter, and the decay kept weight x the chance of that x survival times on average.
  void follow(Slice& slice, const Decay& decay, Origin origin, RandomStream& random) const {
    const Vec3d p = decay.point_mm, u = decay.direction;
    double weight = decay.weight;
    const auto first = detected(p, u, decay.ahead_mm, weight, random);
    if (!first) return;
    Vec3d back = -1.0 * u;
    if (acollinearity_rad > 0) back = deflected(back, acollinearity_rad, random);
    const auto second = detected(p, back, decay.behind_mm, weight, random);
    if (!second || !tracer.in_coincidence(first->module, second->module)) return;
    const double pick = random.uniform();
    if (weight + pick < 1) return;
    for (double copies = std::floor(weight * survival(p, u, origin) + pick); copies >= 1; --copies)
      record(slice, *first, *second, origin, 0, random);
  }

  /// How far a photon flies until it crosses the circle of the inner radius; negative where it does so beyond the ends.
  double way_to_circle_mm(const Photon& photon) const {
    const Vec3d p = photon.at_mm, u = photon.direction;
    const double across = u.x * u.x + u.y * u.y, along = p.x * u.x + p.y * u.y;
    if (!(across > 1e-9)) return -1;
    const double inside = ring.inner_radius_mm * ring.inner_radius_mm - p.x * p.x - p.y * p.y;
    const double way = (std::sqrt(along * along + across * inside) - along) / across;
    return std::abs(p.z + way * u.z) < 0.5 * ring.axial_length_mm() ? way : -1;
  }

  /// Where a photon that has left the phantom interacts; `weight` is multiplied by the chance of that and of its energy.
  std::optional<RingTracer::Hit> detected_scattered(const Photon& photon, double& weight, RandomStream& random) const {
    auto hit = detected(photon.at_mm, photon.direction, way_to_circle_mm(photon), weight, random,
                        crystal_attenuation_ratio(photon.energy_keV));
    if (!hit) return std::nullopt;
    hit->path_mm += photon.path_mm;
    weight *= scattered->recorded(photon);
    return hit;
  }

  void follow_scattered(Slice& slice, RandomStream& random) const {
    const auto pair = scattered->draw(
        phantom, [this](const Photon& photon) { return way_to_circle_mm(photon) >= 0; }, random);
    if (!pair) return;
    double weight = 1;
    const auto first = detected_scattered(pair->one, weight, random);
    if (!first) return;
    const auto second = detected_scattered(pair->two, weight, random);
    if (!second || !tracer.in_coincidence(first->module, second->module)) return;
    const int scatters = std::min(pair->one.scatters + pair->two.scatters, 255);
    for (double copies = std::floor(weight + random.uniform()); copies >= 1; --copies)
      record(slice, *first, *second, Origin::compton, static_cast<std::uint8_t>(scatters), random);
  }

  void record(Slice& slice, const RingTracer::Hit& first, const RingTracer::Hit& second, Origin origin,
              std::uint8_t scatters, RandomStream& random) const {
    const bool swap = first.detector < second.detector;
    const RingTracer::Hit &one = swap ? second : first, &two = swap ? first : second;
    if (!recorded_by(one.detector, two.detector, random)) return;
    // c (t1 - t2) / 2: positive where photon 2 came first, nearer detector 2.
    double tof = 0.5 * (one.path_mm - two.path_mm);
    if (sigma_mm > 0) tof += sigma_mm * random.normal();
    if (!(std::abs(tof) < window_mm)) {
      ++slice.truth.outside_tof_window;
      return;
    }
    slice.records.push_back({one.detector, two.detector, recorded(tof), origin, scatters});
  }

  Record draw_random(RandomStream& random) const {
    const auto detectors = static_cast<std::uint32_t>(ring.detectors());
    const auto elements = static_cast<std::uint32_t>(ring.elements());
    std::uint32_t one = 0, two = 0;
    do {
      one = random.below(detectors);
      two = random.below(detectors);
    } while (!tracer.in_coincidence(one / elements, two / elements) || !recorded_by(one, two, random));
    if (one < two) std::swap(one, two);
    return {one, two, recorded(window_mm * random.symmetric()), Origin::random};
  }

  /// ToF as the scanner writes it: the centre of its bin, where binned.
  float recorded(double tof) const {
    if (bin_mm > 0) {
      const double bin = std::min(std::floor((tof + window_mm) / bin_mm), ring.tof_bins - 1.0);
      tof = (bin + 0.5) * bin_mm - window_mm;
    }
    return static_cast<float>(tof);
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
    result.events = batch_of(slices, &Slice::records, start_s, duration_s);
    result.delayeds = batch_of(slices, &Slice::delayeds, start_s, duration_s);
    result.delayeds.delayed = true;
    result.is_random.reserve(static_cast<std::size_t>(result.events.count));
    result.scatters.reserve(static_cast<std::size_t>(result.events.count));
    for (const Slice& slice : slices)
      for (const Record& record : slice.records) {
        result.is_random.push_back(record.origin == Origin::random ? 1 : 0);
        result.scatters.push_back(record.scatters);
      }
    return result;
  }

  EventBatch batch_of(std::span<const Slice> slices, std::vector<Record> Slice::*records, double start_s,
                      double duration_s) const {
    EventBatch events;
    for (const Slice& slice : slices) events.count += static_cast<std::int64_t>((slice.*records).size());
    events.scanner = scanner;
    events.detectors = scanner->detectors;
    events.start_s = start_s;
    events.duration_s = duration_s;
    events.detector1 = Buffer<std::uint32_t>(Memory::host, events.count);
    events.detector2 = Buffer<std::uint32_t>(Memory::host, events.count);
    if (sigma_mm > 0) {
      events.tof = scanner->tof.front();
      events.tof_mm = Buffer<float>(Memory::host, events.count);
    }
    std::int64_t at = 0;
    for (const Slice& slice : slices)
      for (const Record& record : slice.*records) {
        events.detector1[at] = record.detector1;
        events.detector2[at] = record.detector2;
        if (sigma_mm > 0) events.tof_mm[at] = record.tof_mm;
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
      if (static_cast<std::int64_t>(slice.records.size()) >= missing)
        slice = model_->simulate({stream, next_start_s_ + duration_s, slice_s}, missing);
      missing -= static_cast<std::int64_t>(slice.records.size());
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
    for (std::uint32_t m2 = 0; m2 < m1; ++m2) pairs += model_->tracer.in_coincidence(m1, m2) ? 1 : 0;
  pairs *= static_cast<double>(ring.elements()) * static_cast<double>(ring.elements());
  const double per_pair = model_->options.randoms_cps / pairs;
  return model_->sigma_mm > 0 ? per_pair / (2 * model_->window_mm) : per_pair;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
