// What a probe measures of a phantom: places within its radius are drawn, and kept in proportion to their activity.
#include <algorithm>
#include <random>

#include "core/gadget.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "probe.hpp"

namespace probe {
namespace {

struct Simulator {
  struct Params {
    std::string scanner, phantom;
    std::int64_t events = 1000;
  };
  static constexpr auto params =
      describe(param<&Params::scanner>("scanner", required, reads_one_of("scanners"), "A YAML file of a probe"),
               param<&Params::phantom>("phantom", required, reads_one_of("phantoms"), "What it is held into"),
               param<&Params::events>("events", range(1, 1e6), "Events to simulate"));

  explicit Simulator(const Params& p)
      : events_(p.events),
        probe_(read_probe(find_shared("scanners", p.scanner))),
        phantom_(formats::read_phantom(find_shared("phantoms", p.phantom)).phantom) {}

  void run(Emit<EventBatch>& emit, std::stop_token, Context& context) {
    EventBatch batch = make_batch(make_scanner(probe_.name), events_);
    for (std::int64_t i = 0; i < events_; ++i) set_place(batch, i, draw());
    context.books().received(batch.event_count());
    emit(std::move(batch));
  }

 private:
  Vec3 draw() {
    std::uniform_real_distribution<double> within(-probe_.radius_mm, probe_.radius_mm), share(0, most_active());
    for (;;) {
      const Vec3d place{within(random_), within(random_), within(random_)};
      if (dot(place, place) <= probe_.radius_mm * probe_.radius_mm && share(random_) < phantom_.activity_at(place))
        return {static_cast<float>(place.x), static_cast<float>(place.y), static_cast<float>(place.z)};
    }
  }

  double most_active() const {
    double most = 0;
    for (const Solid& solid : phantom_.solids()) most = std::max(most, solid.activity_Bq_mL.value_or(0));
    return most;
  }

  std::int64_t events_;
  Probe probe_;
  Phantom phantom_;
  std::mt19937 random_{5};
};
TOFSTREAM_GADGET(Simulator, "probe_simulator", "Simulates what a probe measures of a phantom");

}  // namespace
}  // namespace probe
// SPDX-License-Identifier: Apache-2.0
