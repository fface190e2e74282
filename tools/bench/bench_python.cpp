// `tofstream-bench python`: the round trip of a batch through a Python gadget beside a memory copy of the same bytes,
// taken in turns in one run.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/gadget/registry.hpp"
#include "core/testing.hpp"
#include "core/value/document.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/payloads.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/machine.hpp"

namespace tofstream::command {

namespace {

using nlohmann::ordered_json;

struct PythonOptions {
  int mib = 16;
  int repeats = 101;
  std::string python = "python3", output;
  bool json = false;
};

// A Python gadget called directly, which keeps the last message that it emitted.
class Caller : private EmitTarget {
 public:
  Caller(const std::string& what, const PythonOptions& options) {
    const GadgetInfo& info = *registry().find("python");
    params_ = info.default_params();
    const std::string yaml = fmt::format("{{script: {}, python: {}, arguments: {{what: {}}}}}",
                                         find_shared_file("python/bench_round_trip.py").string(), options.python, what);
    Problems problems;
    read_params(info.params, params_.get(), {parse_document(yaml, "bench", problems), "python", problems});
    gadget_ = info.construct(params_, context_);
  }
  std::shared_ptr<const EventBatch> operator()(const std::shared_ptr<const EventBatch>& batch) {
    last_.reset();
    Payload message{batch, false};
    gadget_->process({&message, 1}, *this, context_, params_.get());
    return last_;
  }
  // The time of the script's own code in the last call.
  double own_ms() const { return std::get<double>(context_.figures().at("own_ms")); }

 private:
  void emit(std::size_t, Payload payload) override {
    last_ = std::static_pointer_cast<const EventBatch>(std::move(payload.data));
  }

  TestContext context_{"bench"};
  std::shared_ptr<void> params_;
  std::unique_ptr<GadgetInstance> gadget_;
  std::shared_ptr<const EventBatch> last_;
};

std::shared_ptr<const EventBatch> make_batch(int mib) {
  auto batch = std::make_shared<EventBatch>();
  constexpr std::int64_t bytes_an_event = 16;
  batch->count = (static_cast<std::int64_t>(mib) << 20) / bytes_an_event;
  constexpr std::uint32_t detectors = 30000;
  batch->detectors = std::make_shared<DetectorTable>(std::vector<Vec3>(detectors));
  for (auto* array : {&batch->detector1, &batch->detector2}) *array = Buffer<std::uint32_t>(Memory::host, batch->count);
  for (auto* array : {&batch->tof_mm, &batch->multiplicative}) *array = Buffer<float>(Memory::host, batch->count);
  for (std::int64_t i = 0; i < batch->count; ++i) {
    const auto mixed = static_cast<std::uint32_t>(i * 2654435761);
    batch->detector1[i] = mixed % detectors;
    batch->detector2[i] = (mixed >> 8) % detectors;
    batch->tof_mm[i] = static_cast<float>(mixed >> 16) / 100 - 327;
    batch->multiplicative[i] = 1;
  }
  return batch;
}

double milliseconds(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// `where`: the input lies in ordinary memory, or in shared memory like the output of another Python gadget.
ordered_json measure(const std::string& what, bool in_shared_memory, const PythonOptions& options) {
  auto batch = make_batch(options.mib);
  std::unique_ptr<Caller> giver;
  if (in_shared_memory) {
    giver = std::make_unique<Caller>("rewritten", options);
    batch = (*giver)(batch);
  }
  Caller python(what, options);
  const Buffer<float> from = Buffer<float>::zeros(Memory::host, batch->count * 4);
  Buffer<float> to = Buffer<float>::zeros(Memory::host, batch->count * 4);
  std::vector<double> round_trips, copies, own;
  for (int i = -3; i < options.repeats; ++i) {
    const double copy = milliseconds([&] { std::memcpy(to.data(), from.data(), from.bytes()); });
    std::shared_ptr<const EventBatch> back;
    const double round_trip = milliseconds([&] { back = python(batch); });
    if (i < 0) continue;  // the first call allocates memory
    copies.push_back(copy);
    round_trips.push_back(round_trip);
    own.push_back(python.own_ms());
  }
  const double copy = quantile(copies, 0.5), round_trip = quantile(round_trips, 0.5);
  return {{"gadget", what},
          {"input", in_shared_memory ? "shared" : "ordinary"},
          {"mib", options.mib},
          {"memory_copy_ms", copy},
          {"round_trip_ms", round_trip},
          {"round_trip_p90_ms", quantile(round_trips, 0.9)},
          {"script_ms", quantile(own, 0.5)},
          {"copies", round_trip / copy},
          {"copies_without_script", (round_trip - quantile(own, 0.5)) / copy}};
}

void bench_python(const PythonOptions& options) {
  ordered_json results = ordered_json::array();
  if (!options.json)
    fmt::print("{:<10} {:<9} {:>5} {:>14} {:>13} {:>9} {:>9} {:>8} {:>14}\n", "gadget", "input", "MiB",
               "memory copy ms", "round trip ms", "p90 ms", "script ms", "copies", "without script");
  for (const bool shared : {false, true})
    for (const char* what : {"unchanged", "scaled", "rewritten", "copied", "gated"}) {
      const ordered_json r = measure(what, shared, options);
      if (!options.json)
        fmt::print("{:<10} {:<9} {:>5} {:>14.3f} {:>13.3f} {:>9.3f} {:>9.3f} {:>8.2f} {:>14.2f}\n", what,
                   r["input"].get<std::string>(), options.mib, r["memory_copy_ms"].get<double>(),
                   r["round_trip_ms"].get<double>(), r["round_trip_p90_ms"].get<double>(), r["script_ms"].get<double>(),
                   r["copies"].get<double>(), r["copies_without_script"].get<double>());
      std::fflush(stdout);
      results.push_back(r);
    }
  write_report({{"bench", "python"}, {"machine", machine()}, {"results", results}}, options.json, options.output);
}

std::function<void()> declare_python(Command& line) {
  auto options = std::make_shared<PythonOptions>();
  line.add_option("--mib", options->mib, "Size of the batch (default: 16)").within(1, 4096);
  line.add_option("--repeats", options->repeats, "Round trips, of which the median counts").within(1, 100000);
  line.add_option("--python", options->python, "Interpreter (default: python3)");
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer("Example: tofstream-bench python --mib 16 -o results.json");
  return [options] { bench_python(*options); };
}

TOFSTREAM_BENCH("python", "Round trip of a batch through a Python gadget, beside a memory copy", declare_python);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
