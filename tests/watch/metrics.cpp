// The Prometheus endpoint, scraped as Prometheus does.
#include "tools/watch/metrics.hpp"

#include <sstream>

#include "fake_run.hpp"
#include "tests/watch/scrape.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

std::string endpoint_refusal(const std::string& address, bool is_public = false) {
  FakeRun run;
  try {
    const MetricsEndpoint endpoint(run, {address, is_public});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a scrape says what an edge that spills has on disk") {
  FakeRun run;
  run.report.edges[0].limits.policy = EdgePolicy::spill;
  run.report.edges[0].figures.spilled_bytes = 5000;
  run.report.edges[0].figures.disk_bytes = 3000;
  const MetricsEndpoint endpoint(run, {"127.0.0.1:0"});
  const std::string text = scrape(endpoint.port());
  for (const char* line : {"tofstream_edge_spilled_bytes_total{edge=\"feed -> events\"} 5000",
                           "tofstream_edge_disk_bytes{edge=\"feed -> events\"} 3000"})
    CHECK_MESSAGE(text.find(std::string("\n") + line) != std::string::npos, line);
}

TEST_CASE("a scrape holds gadgets, edges, books, latency and the state of the run") {
  FakeRun run;
  run.report.books.lost["sent, but not \"received\""] = 7;
  const MetricsEndpoint endpoint(run, {"127.0.0.1:0"});
  const std::string text = scrape(endpoint.port());
  CHECK(text.starts_with("HTTP/1.1 200"));
  for (const char* line : {"tofstream_run_state{state=\"running\"} 1", "tofstream_run_state{state=\"stopping\"} 0",
                           "tofstream_run_seconds 2", "tofstream_run_received_events_total 2000100",
                           "tofstream_run_events_total{fate=\"reconstructed\",reason=\"\"} 1500000",
                           "tofstream_run_events_total{fate=\"rejected\",reason=\"too <soft>\"} 100",
                           R"(tofstream_run_events_total{fate="lost",reason="sent, but not \"received\""} 7)",
                           "tofstream_messages_out_total{gadget=\"feed\",use=\"file_source\"} 40",
                           "tofstream_events_out_total{gadget=\"events\",use=\"petsird_decoder\"} 2000000",
                           "tofstream_busy_seconds_total{gadget=\"events\",use=\"petsird_decoder\"} 1.5",
                           "tofstream_progress_ratio{gadget=\"feed\",use=\"file_source\"} 0.25",
                           "tofstream_edge_waiting_messages{edge=\"feed -> events\"} 3",
                           "tofstream_edge_waiting_bytes{edge=\"feed -> events\"} 1048576",
                           "tofstream_edge_dropped_messages_total{edge=\"feed -> events\"} 0",
                           "tofstream_latency_seconds{fraction=\"0.99\"} 0.045"})
    CHECK_MESSAGE(text.find(std::string("\n") + line) != std::string::npos, line);
}

TEST_CASE("every family is tofstream's own, and has its words and its type") {
  FakeRun run;
  const MetricsEndpoint endpoint(run, {"127.0.0.1:0"});
  std::istringstream text(scrape(endpoint.port()));
  int lines = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line.ends_with('\r') || line.starts_with("HTTP/")) continue;
    ++lines;
    CHECK_MESSAGE((line.starts_with("tofstream_") || line.starts_with("# HELP tofstream_") ||
                   line.starts_with("# TYPE tofstream_")),
                  line);
  }
  CHECK(lines > 30);
}

TEST_CASE("a name that was made to point here gets nothing, a name that was given does") {
  FakeRun run;
  const MetricsEndpoint endpoint(run, {.address = "127.0.0.1:0", .hosts = {"console"}});
  const std::string foreign = scrape(endpoint.port(), "evil.example");
  CHECK(foreign.starts_with("HTTP/1.1 403"));
  CHECK(foreign.find("tofstream_") == std::string::npos);
  CHECK(foreign.find("name the host in --metrics-host") != std::string::npos);
  CHECK(scrape(endpoint.port(), "").starts_with("HTTP/1.1 403"));
  for (const char* own : {"console:9464", "127.0.0.1", "[::1]:80", "localhost"})
    CHECK_MESSAGE(scrape(endpoint.port(), own).starts_with("HTTP/1.1 200"), own);
}

TEST_CASE(
    "a server's endpoint says whether it is ready and live, and what it gives as metrics; a run's knows neither") {
  bool is_ready = true;
  const MetricsEndpoint endpoint(MetricsPages{.metrics = [] { return "figures 1\n"; },
                                              .is_ready = [&] { return is_ready; },
                                              .is_live = [] { return true; }},
                                 {.address = "127.0.0.1:0"});
  const auto page = [&](const char* name) { return scrape(endpoint.port(), "10.1.2.3:9464", name); };
  CHECK(page("/metrics").find("figures 1") != std::string::npos);
  CHECK(page("/ready").starts_with("HTTP/1.1 200"));
  CHECK(page("/live").starts_with("HTTP/1.1 200"));
  is_ready = false;
  CHECK(page("/ready").starts_with("HTTP/1.1 404"));
  FakeRun run;
  const MetricsEndpoint of_run(run, {"127.0.0.1:0"});
  CHECK(scrape(of_run.port(), "localhost", "/ready").starts_with("HTTP/1.1 404"));
}

TEST_CASE("each scrape sees the run as it is then") {
  FakeRun run;
  const MetricsEndpoint endpoint(run, {"localhost:0"});
  CHECK(scrape(endpoint.port()).find("state=\"running\"} 1") != std::string::npos);
  run.report.phase = RunPhase::stopping;
  CHECK(scrape(endpoint.port()).find("state=\"stopping\"} 1") != std::string::npos);
}

TEST_CASE("an address that others can reach wants to be asked for, and a list of addresses is none") {
  CHECK(
      endpoint_refusal("0.0.0.0:0") ==
      "--metrics 0.0.0.0:0: is open to the network, and there is no password: use 127.0.0.1, or add --metrics-public");
  CHECK(endpoint_refusal("0.0.0.0:0", true) == "");
  CHECK(endpoint_refusal("example.org:80").find("open to the network") != std::string::npos);
  for (const char* address : {"9464", ":9464", "127.0.0.1:0,0.0.0.0:0", "127.0.0.1:80s", "127.0.0.1:", "", "nonsense"})
    CHECK_MESSAGE(
        endpoint_refusal(address).ends_with(": cannot listen there: give a free host:port, such as 127.0.0.1:9464"),
        address);
  FakeRun run;
  const MetricsEndpoint taken(run, {"127.0.0.1:0"});
  CHECK(endpoint_refusal("127.0.0.1:" + std::to_string(taken.port())).find("cannot listen there") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
