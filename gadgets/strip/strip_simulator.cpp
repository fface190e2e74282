// The Monte Carlo of two strips as a source.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/phantom_yaml.hpp"
#include "gadgets/parameters.hpp"
#include "gadgets/payloads.hpp"
#include "gadgets/strip/io/strip_scanner_yaml.hpp"
#include "gadgets/strip/strip_parameters.hpp"
#include "kernels/strip/simulate.hpp"

namespace tofstream {
namespace {

struct StripSimulatorSource {
  struct Params {
    std::string scanner = "jpet_strip";
    std::string phantom = "jpet_strip";
    StripResolutionParams resolution;
    std::int64_t events = 1'000'000;
    int batch_events = 250'000;
    std::int64_t seed = 1;
    float slice_mm = StripSimulationOptions{}.slice_mm;
  };
  static constexpr auto params =
      describe(param<&Params::scanner>("scanner", reads_one_of("scanners"), strip_scanner_words),
               param<&Params::phantom>("phantom", reads_one_of("phantoms"),
                                       "A phantom of share/phantoms, or a YAML file: its plane x = 0"),
               param<&Params::resolution>("resolution", "How well the strips measure"),
               param<&Params::events>("events", range(1, 1e13), "Events to simulate"),
               param<&Params::batch_events>("batch_events", range(1, 1 << 28), "Events a batch"),
               param<&Params::seed>("seed", at_least(0), "Same seed, same events"),
               param<&Params::slice_mm>("slice_mm", range(1e-3, 1e3), unit("mm"),
                                        "Thickness of the phantom's slice: as thick as the image's voxels along x"));
  static constexpr bool own_thread = true;
  static MemoryNeed memory(const Params& p) {
    return {.message_bytes = event_bytes * static_cast<std::size_t>(p.batch_events), .lower = "batch_events"};
  }

  explicit StripSimulatorSource(const Params& p)
      : p_(p),
        simulator_(formats::read_strip_scanner(find_shared("scanners", p.scanner)), p.resolution.resolution(),
                   formats::read_phantom(find_shared("phantoms", p.phantom)).phantom,
                   {.seed = static_cast<std::uint64_t>(p.seed), .slice_mm = p.slice_mm}) {}

  void run(Emit<EventBatch>& emit, std::stop_token stop, Context& context) {
    Quantity ideal{.unit = "Bq/mL", .scale = "strips that detect every photon"};
    ideal.corrections.fill({CorrectionState::not_needed, "not simulated"});
    const auto quantity = std::make_shared<const Quantity>(std::move(ideal));
    std::int64_t done = 0;
    double seconds = 0;
    while (!stop.stop_requested() && done < p_.events) {
      EventBatch batch = simulator_.next_events(std::min<std::int64_t>(p_.batch_events, p_.events - done));
      batch.quantity = quantity;
      done += batch.count;
      seconds += batch.duration_s;
      context.books().received(batch.event_count());
      context.progress(static_cast<double>(done), static_cast<double>(p_.events), "events");
      emit(std::move(batch));
    }
    context.report("seconds", seconds);
    context.report("activity_Bq", simulator_.activity_Bq());
  }

 private:
  Params p_;
  StripSimulator simulator_;
};

TOFSTREAM_GADGET(StripSimulatorSource, "strip_simulator",
                 "Simulates what two strips measure of a phantom by Monte Carlo");

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
