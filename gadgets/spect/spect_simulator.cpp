// The Monte Carlo of a gamma camera as a source of views.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/gadget.hpp"
#include "gadgets/io/nifti/mu_map.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/spect/spect_parameters.hpp"
#include "gadgets/views.hpp"
#include "kernels/spect/simulate.hpp"

namespace tofstream {
namespace {

struct SpectSimulatorSource {
  struct Params {
    std::string scanner = "spect_lehr";
    std::string phantom = "spect_points";
    PsfParams psf;
    double events = 0;
    double seconds = 0;
    bool attenuation = true;
    double half_life_s = 0;
    std::int64_t seed = 1;
  };
  static constexpr auto params = describe(
      param<&Params::scanner>("scanner", reads_one_of("scanners"), "A camera of share/scanners, or a YAML file"),
      param<&Params::phantom>(
          "phantom", reads_one_of("phantoms"),
          "A phantom of share/phantoms, or a YAML file; its mu must be that of the photons' energy"),
      param<&Params::psf>("psf", "Point spread in place of the camera's"),
      param<&Params::events>(
          "events", range(0, 1e13),
          "Counts of the whole scan, about: the times of its views are made so; 0: the camera's times"),
      param<&Params::seconds>("seconds", range(0, 1e9), unit("s"),
                              "Or: time of all views of a head together; 0: the camera's times"),
      param<&Params::attenuation>("attenuation", "Whether photons are absorbed in the phantom"),
      param<&Params::half_life_s>("half_life_s", at_least(0), unit("s"), "Of the activity; 0: it does not decay"),
      param<&Params::seed>("seed", at_least(0), "Same seed, same counts"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params&) { return {.note = "holds one view, 8 B a pixel"}; }

  explicit SpectSimulatorSource(const Params& p)
      : p_(p),
        camera_(formats::read_camera(find_shared("scanners", p.scanner))),
        file_(formats::read_phantom(find_shared("phantoms", p.phantom))) {
    if (p.events > 0 && p.seconds > 0) throw std::invalid_argument("set events or seconds, not both");
    simulator_ = std::make_unique<CameraSimulator>(planned(), file_.phantom, model());
  }

  void run(Emit<ViewBatch>& emit, std::stop_token stop, Context& context) {
    if (p_.attenuation) warn_of_another_energy(context);
    const auto quantity = what_it_shows();
    const int views = static_cast<int>(set_->places.size());
    std::uint64_t counts = 0;
    int done = 0;
    for (const int v : in_order_of_time()) {
      if (stop.stop_requested()) break;
      ViewBatch batch = simulator_->view(v);
      batch.quantity = quantity;
      counts += batch.event_count();
      context.books().received(batch.event_count());
      context.progress(++done, views, "views");
      emit(std::move(batch));
    }
    context.report("counts", static_cast<std::int64_t>(counts));
    context.report("activity_Bq", simulator_->activity_Bq());
  }

 private:
  void warn_of_another_energy(Context& context) const {
    const std::string warning = other_mu_energy(p_.phantom, file_.mu_keV, photopeak_keV(*set_));
    if (!warning.empty()) context.log().warning(warning);
  }

  CameraSimulation model() const {
    constexpr double decays_a_MBq = 1e6;
    if (!camera_.cps_per_MBq)
      throw std::invalid_argument(
          fmt::format("{}: the camera has no cps_per_MBq, without which there are no counts", p_.scanner));
    return {.beam = camera_.beam,
            .focal_mm = camera_.focal_mm,
            .psf = p_.psf.model(camera_.psf),
            .counts_per_decay = *camera_.cps_per_MBq / decays_a_MBq,
            .attenuation = p_.attenuation,
            .half_life_s = p_.half_life_s,
            .seed = static_cast<std::uint64_t>(p_.seed)};
  }

  // The camera's views with the times that were asked for.
  std::shared_ptr<const ViewSet> planned() {
    set_ = camera_.views;
    const double factor = time_factor();
    if (factor == 1) return set_;
    auto scaled = std::make_shared<ViewSet>(*set_);
    for (ViewPlace& place : scaled->places) {
      place.start_s *= factor;
      place.duration_s *= factor;
    }
    return set_ = std::move(scaled);
  }

  double time_factor() const {
    if (p_.seconds > 0) {
      double all_s = 0;
      for (const ViewPlace& place : set_->places) all_s = std::max(all_s, place.start_s + place.duration_s);
      return p_.seconds / all_s;
    }
    if (p_.events == 0) return 1;
    const CameraSimulator trial(set_, file_.phantom, model());
    constexpr int looks = 16;  // of the camera, to learn its rate
    const int views = static_cast<int>(set_->places.size());
    double expected = 0;
    for (int look = 0; look < looks; ++look) {
      const int v = static_cast<int>(std::int64_t{look} * views / looks);
      expected += trial.expected_cps(v) * set_->places[static_cast<std::size_t>(v)].duration_s * views / looks;
    }
    if (!(expected > 0))
      throw std::invalid_argument(fmt::format("the camera sees nothing of phantom {}", file_.phantom.name()));
    return p_.events / expected;
  }

  // A camera's heads count together.
  std::vector<int> in_order_of_time() const {
    std::vector<int> order(set_->places.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int v) { return set_->places[static_cast<std::size_t>(v)].start_s; });
    return order;
  }

  std::shared_ptr<const Quantity> what_it_shows() const {
    Quantity ideal{.scale = "a simulated camera"};
    ideal.corrections.fill({CorrectionState::not_needed, "not simulated"});
    if (p_.attenuation)
      ideal[Correction::attenuation] = {CorrectionState::called_for, "photons are absorbed in the phantom"};
    if (p_.half_life_s > 0)
      ideal[Correction::decay] = {CorrectionState::called_for, "the activity decays from view to view"};
    return std::make_shared<const Quantity>(std::move(ideal));
  }

  Params p_;
  formats::Camera camera_;
  formats::PhantomFile file_;
  std::shared_ptr<const ViewSet> set_;
  std::unique_ptr<CameraSimulator> simulator_;
};

TOFSTREAM_GADGET(SpectSimulatorSource, "spect_simulator",
                 "Simulates what a gamma camera counts of a phantom by Monte Carlo, view by view");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
