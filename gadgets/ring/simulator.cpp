// The Monte Carlo simulator as a source: list mode of a phantom in a scanner, batch by batch.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/printable.hpp"
#include "core/gadget.hpp"
#include "gadgets/io/dynamic/time_functions.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/motion/pose_timeline.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/ring/exposure.hpp"
#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "kernels/correct/isotopes.hpp"
#include "kernels/ring/simulate/event_simulator.hpp"

namespace tofstream {
namespace {

/// `motion: {file: head.csv}`
struct PhantomMotion : PoseTableParams {
  static constexpr auto params = describe(param<&PhantomMotion::file>("file", reads_file, pose_file_words),
                                          param<&PhantomMotion::maps>("maps", pose_maps_words));
};

/// `curves: {file: curves.csv, solids: [tissue, tumour]}`
struct ActivityCurves {
  std::filesystem::path file;
  std::vector<std::string> solids;
  double step_s = 5;
  static constexpr auto params = describe(
      param<&ActivityCurves::file>("file", reads_file,
                                   "A CSV with time_s and f1, f2, ...: factors of the solids' activity over scan time, "
                                   "linear between the times"),
      param<&ActivityCurves::solids>("solids",
                                     "Names of the phantom's solids that f1, f2, ... belong to, in this order"),
      param<&ActivityCurves::step_s>("step_s", range(0.01, 1e5), unit("s"),
                                     "For so long activities stay at their mean over that time"));
};

struct Simulator {
  struct Params {
    std::string scanner;
    std::string phantom;
    std::int64_t events = 1'000'000;
    double seconds = 0;
    int batch_events = 250'000;
    std::int64_t seed = 1;
    bool attenuation = true;
    double activity_scale = 1;
    double randoms_cps = 0;
    double acollinearity_fwhm_deg = 0;
    double positron_range_fwhm_mm = 0;
    double crystal_efficiency_spread = 0;
    bool delayeds = false;
    bool singles = false;
    DecayParams decay;
    bool scatter = false;
    std::string scatter_phantom;
    PhantomMotion motion;
    ActivityCurves curves;
  };
  static constexpr auto params = describe(
      param<&Params::scanner>("scanner", required, reads_one_of("scanners"),
                              "A scanner of share/scanners, or a YAML file"),
      param<&Params::phantom>("phantom", required, reads_one_of("phantoms"),
                              "A phantom of share/phantoms, or a YAML file"),
      param<&Params::events>("events", range(1, 1e13),
                             "Events to simulate, randoms included; unused if `seconds` is given"),
      param<&Params::seconds>("seconds", range(0, 1e6), unit("s"),
                              "Scan time to simulate; 0: as long as `events` takes"),
      param<&Params::batch_events>("batch_events", range(1, 1 << 28), "Events a batch"),
      param<&Params::seed>("seed", at_least(0), "Same seed, same events"),
      param<&Params::attenuation>("attenuation", "Attenuate photons in the phantom"),
      param<&Params::activity_scale>("activity_scale", range(1e-9, 1e9),
                                     "Factor by which the phantom's activity is multiplied"),
      param<&Params::randoms_cps>("randoms_cps", range(0, 1e9), unit("1/s"), "Random coincidences"),
      param<&Params::acollinearity_fwhm_deg>("acollinearity_fwhm_deg", range(0, 5), unit("degrees"),
                                             "FWHM of the angle by which photons are not collinear: 0.5 in water"),
      param<&Params::positron_range_fwhm_mm>("positron_range_fwhm_mm", range(0, 20), unit("mm"),
                                             "FWHM of the positron range, a Gaussian along each axis"),
      param<&Params::crystal_efficiency_spread>("crystal_efficiency_spread", range(0, 0.99),
                                                "Crystals' efficiencies are uniform from 1 minus this to 1"),
      param<&Params::delayeds>("delayeds", "Also count the randoms in a delayed window, in batches of their own"),
      param<&Params::singles>(
          "singles",
          "Also the singles of each detector that make randoms_cps, a histogram a batch, in batches "
          "of their own; with `seconds` a batch then lasts at most 1 s"),
      param<&Params::decay>("decay", "Activity that decays: the phantom has it at the scan's start"),
      param<&Params::scatter>("scatter",
                              "Also the coincidences of which the phantom scattered a photon by Compton's effect, once "
                              "or more often, within the scanner's energy window"),
      param<&Params::scatter_phantom>(
          "scatter_phantom", reads_one_of("phantoms"),
          "A phantom whose activity stands for scatter: its photons are recorded and never attenuated"),
      param<&Params::motion>("motion", "How the phantom moves as a whole, with `seconds`"),
      param<&Params::curves>("curves",
                             "How activities change over scan time, with `seconds`; randoms_cps and "
                             "scatter_phantom stay what they are"));
  static constexpr bool own_thread = true;
  // Detectors and ToF of a batch's events.
  static MemoryNeed memory(const Params& p) {
    return {.message_bytes = std::size_t{12} * static_cast<std::size_t>(p.batch_events), .lower = "batch_events"};
  }

  explicit Simulator(const Params& p)
      : p_(p),
        file_(formats::read_phantom(find_shared("phantoms", p.phantom))),
        simulator_(ring_of(p), file_.phantom, options(p)),
        scanner_(simulator_.scanner()) {
    if (!p.motion.file.empty()) {
      if (!(p.seconds > 0))
        throw std::invalid_argument("motion: a phantom moves over time: give `seconds`, not `events`");
      motion_.emplace(formats::read_pose_table(p.motion.file), p.motion.maps, PoseTimelineSettings{});
    }
    if (!p.curves.file.empty() || !p.curves.solids.empty()) read_curves();
    if (motion_ || !curves_.empty()) same_until_s_ = 0;
  }

  void run(Emit<EventBatch>& emit, std::stop_token stop, Context& context) {
    if (p_.attenuation) warn_of_another_energy(context);
    const auto quantity = std::make_shared<const Quantity>(quantity_of(p_));
    SimulationTruth truth;
    std::int64_t done = 0, delayeds = 0;
    double seconds = 0;
    while (!stop.stop_requested() && (p_.seconds > 0 ? seconds < p_.seconds * (1 - 1e-12) : done < p_.events)) {
      SimulatedEvents made = next(done, seconds);
      made.events.quantity = made.delayeds.quantity = quantity;
      if (made.singles) emit(batch_of(made));
      truth += made.truth;
      done += made.events.count;
      seconds += made.events.duration_s;
      context.books().received(made.events.event_count() + made.delayeds.event_count());
      delayeds += made.delayeds.count;
      context.progress(p_.seconds > 0 ? seconds : static_cast<double>(done),
                       p_.seconds > 0 ? p_.seconds : static_cast<double>(p_.events), p_.seconds > 0 ? "s" : "events");
      if (p_.delayeds) emit(std::move(made.delayeds));
      emit(std::move(made.events));
    }
    report(truth, seconds, context);
    if (p_.delayeds) context.report("delayeds", delayeds);
  }

 private:
  void warn_of_another_energy(Context& context) const {
    const std::string warning = other_mu_energy(p_.phantom, file_.mu_keV, annihilation_keV);
    if (!warning.empty()) context.log().warning(warning);
  }

  // Without events: they come before those of their time.
  static EventBatch batch_of(const SimulatedEvents& made) {
    EventBatch batch;
    batch.scanner = made.events.scanner;
    batch.detectors = made.events.detectors;
    batch.quantity = made.events.quantity;
    batch.singles = made.singles;
    return batch;
  }

  static RingScanner ring_of(const Params& p) {
    RingScanner ring = formats::read_ring_scanner(find_shared("scanners", p.scanner));
    ring.crystal_efficiency_spread = p.crystal_efficiency_spread;
    return ring;
  }
  static SimulationOptions options(const Params& p) {
    SimulationOptions options{.seed = static_cast<std::uint64_t>(p.seed),
                              .attenuation = p.attenuation,
                              .activity_scale = p.activity_scale,
                              .randoms_cps = p.randoms_cps,
                              .acollinearity_fwhm_deg = p.acollinearity_fwhm_deg,
                              .positron_range_fwhm_mm = p.positron_range_fwhm_mm,
                              .delayeds = p.delayeds,
                              .singles = p.singles,
                              .half_life_s = half_life_of(p.decay),
                              .scatter = p.scatter};
    if (p.decay.reference_time_s != 0)
      throw std::invalid_argument(
          "decay: the phantom's activity is that of the scan's start: leave out reference_time_s");
    if (!p.scatter_phantom.empty())
      options.scatter_phantom = formats::read_phantom(find_shared("phantoms", p.scatter_phantom)).phantom;
    return options;
  }

  // The effects that the simulation puts into events, which a reconstruction has to correct for.
  static Quantity quantity_of(const Params& p) {
    const auto state = [](bool simulated) {
      return simulated ? CorrectionRecord{CorrectionState::called_for, "simulated"}
                       : CorrectionRecord{CorrectionState::not_needed, "not simulated"};
    };
    Quantity quantity{.unit = "Bq/mL", .scale = "efficiencies of the simulated scanner"};
    quantity[Correction::attenuation] = state(p.attenuation);
    quantity[Correction::normalisation] = {CorrectionState::made, "efficiencies of the simulated scanner"};
    quantity[Correction::randoms] = state(p.randoms_cps > 0);
    quantity[Correction::scatter] = state(p.scatter || !p.scatter_phantom.empty());
    quantity[Correction::dead_time] = state(false);
    quantity[Correction::decay] = state(half_life_of(p.decay) > 0);
    return quantity;
  }

  SimulatedEvents next(std::int64_t done, double seconds) {
    if (seconds >= same_until_s_ - rounding_s) renew(seconds);
    SimulatedEvents made = draw(done, seconds);
    for (EventBatch* batch : {&made.events, &made.delayeds}) {
      batch->scanner = scanner_;
      batch->detectors = scanner_->detectors;
    }
    return made;
  }

  static constexpr double rounding_s = 1e-9;  // of a sum of batches' times

  void read_curves() {
    if (!(p_.seconds > 0))
      throw std::invalid_argument("curves: activities change over time: give `seconds`, not `events`");
    if (p_.curves.file.empty()) throw std::invalid_argument("curves: solids are named, and no file of their curves");
    std::vector<TimeFunction> curves = formats::read_time_functions(p_.curves.file);
    if (curves.size() != p_.curves.solids.size())
      throw std::invalid_argument(fmt::format("curves: {} has {} functions for {} solids", p_.curves.file.string(),
                                              curves.size(), p_.curves.solids.size()));
    for (std::size_t c = 0; c < curves.size(); ++c) {
      if (std::ranges::count(p_.curves.solids, p_.curves.solids[c]) > 1)
        throw std::invalid_argument(fmt::format("curves: solid '{}' is named twice", printable(p_.curves.solids[c])));
      if (curves[c].end_s() < p_.seconds)
        throw std::invalid_argument(fmt::format("curves: {} ends at {:g} s, before the scan does, at {:g} s",
                                                p_.curves.file.string(), curves[c].end_s(), p_.seconds));
      curves_.push_back({solid_named(p_.curves.solids[c]), std::move(curves[c])});
    }
  }

  std::size_t solid_named(const std::string& name) const {
    const std::vector<Solid>& solids = file_.phantom.solids();
    const auto found = std::ranges::find(solids, name, &Solid::name);
    if (std::ranges::count(solids, name, &Solid::name) > 1)
      throw std::invalid_argument(fmt::format(
          "curves: the phantom has several solids called '{}': give each a name of its own", printable(name)));
    if (found != solids.end() && found->activity_Bq_mL) return static_cast<std::size_t>(found - solids.begin());
    std::vector<std::string> names;
    for (const Solid& solid : solids)
      if (solid.activity_Bq_mL) names.push_back(printable(solid.name));
    throw std::invalid_argument(fmt::format("curves: no solid with an activity is called '{}'; there are: {}",
                                            printable(name), fmt::join(names, ", ")));
  }

  // Makes the phantom what it is from now on. Each stretch has random numbers of its own.
  void renew(double now_s) {
    SimulationOptions renewed = options(p_);
    renewed.seed += 0x9e3779b97f4a7c15u * ++renewals_;
    renewed.start_s = now_s;
    same_until_s_ = std::numeric_limits<double>::infinity();
    Phantom phantom = file_.phantom;
    if (!curves_.empty()) {
      same_until_s_ = std::min(now_s + p_.curves.step_s, p_.seconds);
      std::vector<double> factors(phantom.solids().size(), 1);
      for (const Curve& curve : curves_) factors[curve.solid] = curve.factor.mean(now_s, same_until_s_);
      phantom = phantom.with_activities(factors);
    }
    if (motion_) {
      const RigidPose pose = motion_->poses()[*motion_->nearest(now_s + rounding_s)].inverse();
      if (renewed.scatter_phantom) renewed.scatter_phantom = renewed.scatter_phantom->moved(pose);
      phantom = phantom.moved(pose);
      same_until_s_ = std::min(same_until_s_, motion_->at(now_s + rounding_s).end_s);
    }
    simulator_ = EventSimulator(ring_of(p_), std::move(phantom), renewed);
  }

  SimulatedEvents draw(std::int64_t done, double seconds) {
    if (p_.seconds <= 0) return simulator_.next_events(std::min<std::int64_t>(p_.batch_events, p_.events - done));
    const double by_events_s = p_.batch_events / simulator_.expected_cps();
    const double batch_seconds = p_.singles ? std::min(by_events_s, 1.0) : by_events_s;
    return simulator_.next_seconds(std::min(batch_seconds, std::min(p_.seconds, same_until_s_) - seconds));
  }

  static void report(const SimulationTruth& truth, double seconds, Context& context) {
    context.report("seconds", seconds);
    context.report("trues", static_cast<std::int64_t>(truth.trues));
    context.report("randoms", static_cast<std::int64_t>(truth.randoms));
    if (truth.scattered > 0) context.report("scattered", static_cast<std::int64_t>(truth.scattered));
    if (truth.scattered_more > 0)
      context.report("scattered_more_than_once", static_cast<std::int64_t>(truth.scattered_more));
  }

  Params p_;
  formats::PhantomFile file_;
  EventSimulator simulator_;
  std::shared_ptr<const Scanner> scanner_;  // of all events: simulators of other places have equal ones of their own
  struct Curve {
    std::size_t solid;
    TimeFunction factor;
  };
  std::optional<PoseTimeline> motion_;
  std::vector<Curve> curves_;
  double same_until_s_ = std::numeric_limits<double>::infinity();
  std::uint64_t renewals_ = 0;
};

TOFSTREAM_GADGET(Simulator, "simulator", "Simulates list mode of a phantom in a scanner by Monte Carlo");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
