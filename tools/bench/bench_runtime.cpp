// `tofstream-bench runtime`: the cost of the runtime itself. A chain of trivial gadgets beside the same chain of raw
// oneTBB function nodes, the fan-out of a large batch, and how far decoding and a busy sink overlap; all in one run.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <oneapi/tbb/flow_graph.h>

#include "core/base/private_folder.hpp"
#include "core/gadget.hpp"
#include "core/run/engine.hpp"
#include "gadgets/payloads.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/machine.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

constexpr int chain_length = 10;
constexpr int fan_out = 4;

struct RuntimeOptions {
  std::int64_t messages = 1'000'000, decoded_events = 20'000'000;
  int repeats = 5;
  std::string output;
  bool json = false;
};

struct Number {
  std::uint64_t value = 0;
};

struct Numbers {
  struct Params {
    std::uint64_t messages = 0;
  };
  static constexpr auto params = describe(param<&Params::messages>("messages", "How many"));
  void run(Emit<Number>& emit, std::stop_token, const Params& p) {
    for (std::uint64_t i = 0; i < p.messages; ++i) emit(Number{i});
  }
};

struct AddOne {
  Number operator()(Number n) const { return {n.value + 1}; }
};

struct Sum {
  void process(const Number& n) { total += n.value; }
  static inline std::atomic<std::uint64_t> total = 0;
};

struct Block {
  std::vector<std::byte> data;
  std::size_t bytes() const { return data.size(); }
};

struct Blocks {
  static constexpr std::size_t size = std::size_t{64} << 20;
  static constexpr int count = 2000;
  void run(Emit<Block>& emit, std::stop_token) {
    const auto block = std::make_shared<const Block>(Block{std::vector<std::byte>(size)});
    for (int i = 0; i < count; ++i) emit(block);
  }
};

// Counts how often the data lies elsewhere than at first, as after a copy.
struct Look {
  void process(const Block& block) {
    const void* expected = nullptr;
    if (!first.compare_exchange_strong(expected, block.data.data()) && expected != block.data.data()) ++copies;
    ++messages;
  }
  static inline std::atomic<const void*> first = nullptr;
  static inline std::atomic<int> copies = 0, messages = 0;
};

struct Busy {
  struct Params {
    double us = 0;
  };
  static constexpr auto params = describe(param<&Params::us>("us", non_negative, unit("us"), "Time for each message"));
  static constexpr bool own_thread = true;
  void process(const EventBatch& batch, const Params& p, Context& context) {
    const auto time = std::chrono::duration<double, std::micro>(p.us);
    const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
    while (Clock::now() < until) {
    }
    context.books().written(batch.event_count());
  }
};

const Registry& bench_registry() {
  static const Registry all = [] {
    Registry made;
    made.add(describe_gadget<Numbers>("numbers", "Numbers from 0"));
    made.add(describe_gadget<AddOne>("add_one", "Adds one"));
    made.add(describe_gadget<Sum>("sum", "Sums up"));
    made.add(describe_gadget<Blocks>("blocks", "One large block, again and again"));
    made.add(describe_gadget<Look>("look", "Looks where a block lies"));
    made.add(describe_gadget<Busy>("busy", "Keeps a core busy"));
    for (const char* name : {"simulator", "petsird_writer", "file_source", "petsird_decoder"})
      made.add(*registry().find(name));
    return made;
  }();
  return all;
}

RunReport run_text(const std::string& yaml, const std::filesystem::path& folder = {}) {
  EngineOptions options;
  options.output_dir = folder;
  Engine engine(parse_pipeline(yaml, "bench", {}, bench_registry()), options);
  RunReport report = engine.run();
  if (report.exit_code != exit_ok) throw std::runtime_error(report.errors.front().text());
  return report;
}

// Seconds of `messages` numbers through the chain.
double chain_of_gadgets(std::int64_t messages) {
  std::string yaml = fmt::format("gadgets:\n  g0: {{use: numbers, messages: {}}}\n", messages);
  for (int i = 1; i <= chain_length; ++i) yaml += fmt::format("  g{}: {{use: add_one, from: g{}}}\n", i, i - 1);
  yaml += fmt::format("  sum: {{use: sum, from: g{}}}\n", chain_length);
  Sum::total = 0;
  const double seconds = run_text(yaml).seconds;
  const auto n = static_cast<std::uint64_t>(messages);
  if (Sum::total != n * (n - 1) / 2 + n * chain_length) throw std::logic_error("the chain of gadgets lost a message");
  return seconds;
}

// The same with oneTBB alone, whose nodes pass numbers by value or, like messages, by shared pointer.
template <class Made, class Add, class Read>
double chain_of_nodes(std::int64_t messages, Made made, Add add, Read read) {
  using T = decltype(made(std::uint64_t{0}));
  namespace flow = oneapi::tbb::flow;
  const Clock::time_point began = Clock::now();
  flow::graph graph;
  std::uint64_t next = 0, total = 0;
  flow::input_node<T> source(graph, [&](oneapi::tbb::flow_control& control) {
    if (next == static_cast<std::uint64_t>(messages)) {
      control.stop();
      return T{};
    }
    return made(next++);
  });
  std::vector<std::unique_ptr<flow::function_node<T, T>>> nodes;
  for (int i = 0; i < chain_length; ++i)
    nodes.push_back(std::make_unique<flow::function_node<T, T>>(graph, flow::serial, add));
  flow::function_node<T> sum(graph, flow::serial, [&](const T& n) {
    total += read(n);
    return flow::continue_msg{};
  });
  flow::make_edge(source, *nodes.front());
  for (int i = 1; i < chain_length; ++i)
    flow::make_edge(*nodes[static_cast<std::size_t>(i - 1)], *nodes[static_cast<std::size_t>(i)]);
  flow::make_edge(*nodes.back(), sum);
  source.activate();
  graph.wait_for_all();
  const auto n = static_cast<std::uint64_t>(messages);
  if (total != n * (n - 1) / 2 + n * chain_length) throw std::logic_error("the chain of nodes lost a message");
  return seconds_since(began);
}

double chain_by_value(std::int64_t messages) {
  return chain_of_nodes(
      messages, [](std::uint64_t i) { return Number{i}; }, [](Number n) { return Number{n.value + 1}; },
      [](Number n) { return n.value; });
}

double chain_by_pointer(std::int64_t messages) {
  using Shared = std::shared_ptr<const Number>;
  return chain_of_nodes(
      messages, [](std::uint64_t i) -> Shared { return std::make_shared<Number>(Number{i}); },
      [](const Shared& n) -> Shared { return std::make_shared<Number>(Number{n->value + 1}); },
      [](const Shared& n) { return n->value; });
}

ordered_json bench_chain(const RuntimeOptions& options) {
  std::vector<double> ours, by_value, by_pointer;
  for (int i = 0; i < options.repeats; ++i) {
    by_value.push_back(chain_by_value(options.messages));
    by_pointer.push_back(chain_by_pointer(options.messages));
    ours.push_back(chain_of_gadgets(options.messages));
  }
  const double to_ns = 1e9 / static_cast<double>(options.messages);
  const double gadgets = median(ours) * to_ns, value = median(by_value) * to_ns, pointer = median(by_pointer) * to_ns;
  return {{"gadgets", chain_length},
          {"ns_per_message", gadgets},
          {"tbb_by_value_ns", value},
          {"tbb_by_pointer_ns", pointer},
          {"ratio_to_by_value", gadgets / value},
          {"ratio_to_by_pointer", gadgets / pointer}};
}

ordered_json bench_fan_out() {
  std::string yaml = "gadgets:\n  blocks: {use: blocks}\n";
  for (int i = 0; i < fan_out; ++i) yaml += fmt::format("  look{}: {{use: look, from: blocks}}\n", i);
  Look::first = nullptr;
  Look::copies = Look::messages = 0;
  const double seconds = run_text(yaml).seconds;
  if (Look::messages != fan_out * Blocks::count) throw std::logic_error("the fan-out lost a message");
  return {{"sinks", fan_out},
          {"bytes", Blocks::size},
          {"copies", Look::copies.load()},
          {"us_per_message", 1e6 * seconds / Blocks::count}};
}

ordered_json bench_overlap(const RuntimeOptions& options) {
  const PrivateTemporaryFolder folder;  // for the recording that is decoded
  // Nearly all randoms, which cost little to make.
  run_text(
      fmt::format("gadgets:\n  photons: {{use: simulator, scanner: demo_ring, phantom: uniform_cylinder, events: {}, "
                  "randoms_cps: 1.0e+9}}\n  file: {{use: petsird_writer, scanner: demo_ring, from: photons, file: "
                  "scan.petsird}}\n",
                  options.decoded_events),
      folder.path());
  const auto decode = [&](double us) {
    return run_text(
        fmt::format("gadgets:\n  feed: {{use: file_source, path: {}}}\n  events: {{use: petsird_decoder, "
                    "from: feed}}\n  sink: {{use: busy, from: events, us: {}}}\n",
                    (folder.path() / "scan.petsird").string(), us));
  };
  const RunReport first = decode(0);
  const auto batches = static_cast<double>(first.gadgets.back().messages_in);
  std::vector<double> decoding, both;
  for (int i = 0; i < options.repeats; ++i) decoding.push_back(decode(0).seconds);
  const double us = 1e6 * median(decoding) / batches;
  for (int i = 0; i < options.repeats; ++i) both.push_back(decode(us).seconds);
  const double longer = std::max(median(decoding), 1e-6 * us * batches);
  return {{"decode_seconds", median(decoding)},
          {"busy_seconds", 1e-6 * us * batches},
          {"together_seconds", median(both)},
          {"ratio_to_longer", median(both) / longer}};
}

void bench_runtime(const RuntimeOptions& options) {
  const ordered_json chain = bench_chain(options), fan = bench_fan_out(), overlap = bench_overlap(options);
  if (!options.json) {
    fmt::print(
        "chain of {} gadgets    {:8.1f} ns a message; raw oneTBB {:.1f} by value ({:.2f}x), {:.1f} by pointer "
        "({:.2f}x)\n",
        chain_length, chain["ns_per_message"].get<double>(), chain["tbb_by_value_ns"].get<double>(),
        chain["ratio_to_by_value"].get<double>(), chain["tbb_by_pointer_ns"].get<double>(),
        chain["ratio_to_by_pointer"].get<double>());
    fmt::print("64 MiB to {} sinks      {:8.1f} us a message, {} copies\n", fan_out,
               fan["us_per_message"].get<double>(), fan["copies"].get<int>());
    fmt::print("decode and busy sink   {:8.3f} s together; decode {:.3f} s, sink {:.3f} s ({:.2f}x the longer)\n",
               overlap["together_seconds"].get<double>(), overlap["decode_seconds"].get<double>(),
               overlap["busy_seconds"].get<double>(), overlap["ratio_to_longer"].get<double>());
  }
  write_report({{"bench", "runtime"},
                {"machine", machine()},
                {"messages", options.messages},
                {"chain", chain},
                {"fan_out", fan},
                {"overlap", overlap}},
               options.json, options.output);
}

std::function<void()> declare_runtime(Command& line) {
  auto options = std::make_shared<RuntimeOptions>();
  line.add_option("--messages", options->messages, "Messages through the chain (default: 1000000)")
      .within(1000, 1000000000);
  line.add_option("--events", options->decoded_events, "Events to decode (default: 20000000)")
      .within(100000, 1000000000);
  line.add_option("--repeats", options->repeats, "Timed runs, of which the median counts").within(1, 1000);
  line.add_option("-o,--out", options->output, "Write the results as JSON");
  line.add_flag("--json", options->json, "Print JSON");
  line.footer("Example: tofstream-bench runtime --messages 1000000 -o runtime.json");
  return [options] { bench_runtime(*options); };
}

TOFSTREAM_BENCH("runtime", "The runtime's own cost a message, beside raw oneTBB", declare_runtime);

}  // namespace

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
