// Small random graphs with random faults, stops and aborts: every run ends, says why, and loses nothing unreported.
#include <random>

#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

struct RandomGraph {
  std::string yaml;
  bool has_fault = false;
  bool discards = false;  // a join by sequence drops what has no partner
};

// A tree of gadgets below one source, each leaf a sink; now and then a join of two equal streams and a feedback cycle.
RandomGraph random_graph(std::mt19937& rng) {
  const auto up_to = [&](int n) { return std::uniform_int_distribution<int>(0, n)(rng); };
  RandomGraph graph;
  const bool feedback = up_to(3) == 0;
  std::string& yaml = graph.yaml;
  yaml = fmt::format("gadgets:\n  feed: {{use: count, messages: {}", up_to(60));
  if (up_to(9) == 0) {
    yaml += fmt::format(", throw_at: {}", up_to(60));
    graph.has_fault = true;
  }
  yaml += "}\n";
  std::vector<std::string> tips{"feed"};
  const int steps = 1 + up_to(5);
  for (int i = 0; i < steps; ++i) {
    const std::string from = tips[static_cast<std::size_t>(up_to(static_cast<int>(tips.size()) - 1))];
    const std::string name = fmt::format("g{}", i);
    const std::string edge = fmt::format("edge: {{messages: {}, bytes: {}}}", 1 + up_to(5), up_to(1) ? 1 : 100000);
    switch (up_to(5)) {
      case 0: {
        const bool fault = up_to(7) == 0;
        graph.has_fault = graph.has_fault || fault;
        yaml +=
            fmt::format("  {}: {{use: pass, from: {}, parallel: {}, uneven: true, delay_ms: {}, throw_at: {}, {}}}\n",
                        name, from, 1 + up_to(3), 0.02 * up_to(2), fault ? up_to(40) : -1, edge);
        break;
      }
      case 1:
        yaml += fmt::format("  {}: {{use: filter, from: {}, parallel: {}, {}}}\n", name, from, 1 + up_to(3), edge);
        break;
      case 2:
        yaml += fmt::format("  {}: {{use: mark, from: {}, {}}}\n", name, from, edge);
        break;
      case 3:
        // The stream splits and merges again, in the source's order or as messages come; one branch may be slow.
        yaml += fmt::format(
            "  {0}s: {{use: split, from: {1}, {2}}}\n  {0}a: {{use: pass, from: {0}s.even, parallel: {3}, delay_ms: "
            "{4}}}\n"
            "  {0}: {{use: pass, from: [{0}a, {0}s.odd], merge: {5}, {2}}}\n",
            name, from, edge, 1 + up_to(2), 0.02 * up_to(1), up_to(1) ? "ordered" : "unordered");
        break;
      case 4:
        // One branch drops messages, whose partners are then booked as discarded.
        yaml += fmt::format(
            "  {0}a: {{use: every, of: 3, from: {1}, {2}}}\n  {0}b: {{use: pass, from: {1}, fault: {{delay_ms: "
            "{3}}}}}\n"
            "  {0}: {{use: pair, from: {{left: {0}a, right: {0}b}}, join: sequence, {2}}}\n"
            "  {0}_b: {{use: collect, from: {0}b}}\n",
            name, from, edge, 0.02 * up_to(1));
        graph.discards = true;
        break;
      default:
        // Both branches carry every message, so they can be joined.
        yaml += fmt::format(
            "  {0}a: {{use: pass, from: {1}, {2}}}\n  {0}b: {{use: mark, from: {1}, parallel: 2}}\n"
            "  {0}: {{use: pair, from: {{left: {0}a, right: {0}b}}}}\n",
            name, from, edge);
    }
    tips.push_back(name);
  }
  if (feedback)
    yaml += fmt::format(
        "  projected: {{use: project, from: {{events: {}, image: estimate}}}}\n"
        "  estimate: {{use: update, from: projected}}\n  shown: {{use: show, from: estimate}}\n",
        tips.back());
  for (const std::string& tip : tips)
    yaml += fmt::format("  {0}_end: {{use: {1}, from: {0}, delay_ms: {2}}}\n", tip,
                        up_to(1) ? "collect" : "blocking_collect", 0.02 * up_to(2));
  return graph;
}

}  // namespace

TEST_CASE("200 random graphs with faults, stops and aborts all end, and their books balance or say why not") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 rng(seed);
    const RandomGraph graph = random_graph(rng);
    CAPTURE(seed);
    CAPTURE(graph.yaml);
    Engine engine(parse_pipeline(graph.yaml, "random.yaml"));
    const int end = std::uniform_int_distribution<int>(0, 5)(rng);
    std::jthread interrupter([&, pause = std::uniform_int_distribution<int>(0, 3000)(rng)] {
      if (end > 1) return;
      std::this_thread::sleep_for(std::chrono::microseconds(pause));
      if (end == 0)
        engine.request_stop();
      else
        engine.abort();
    });
    const RunReport report = engine.run();
    interrupter.join();
    CHECK(report.still_running.empty());
    if (report.exit_code == 0) {
      CHECK(report.books.balanced());
      CHECK(report.errors.empty());
      const std::uint64_t sent = gadget(report, "feed").messages_out;
      CHECK(gadget(report, "feed_end").messages_in == sent);
      for (const EdgeReport& edge : report.edges) {
        CHECK(edge.figures.most_messages <= edge.limits.messages);
        if (!graph.discards) CHECK(edge.figures.dropped_messages == 0);
      }
    } else if (report.exit_code == exit_abort) {
      CHECK(report.aborted);
    } else {
      REQUIRE(report.errors.size() == 1);
      CHECK(graph.has_fault);
      const bool known = report.errors[0].what == "source fails" || report.errors[0].what == "pass fails";
      CHECK_MESSAGE(known, report.errors[0].text());
    }
  }
}
// SPDX-License-Identifier: Apache-2.0
