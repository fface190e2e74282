// A run that is watched, and one that is killed: the trace has every gadget, a bad address is wrong input, and nothing
// that a killed program leaves passes for a result.
#include <set>

#include "tests/command/command.hpp"

using namespace tofstream;

namespace {

// A simulated scan that is written as PETSIRD, in five batches or so.
CommandResult simulate_into(const TemporaryFolder& folder, const std::string& more) {
  return run_command("run simulate --quiet --set photons.events=100000 --set photons.batch_events=20000 --out " +
                     folder.path().string() + " " + more);
}

}  // namespace

TEST_CASE("a trace holds the calls of every gadget, in Chrome's format") {
  const TemporaryFolder folder;
  const auto file = folder / "trace.json";
  const CommandResult result = simulate_into(folder, "--trace " + file.string());
  REQUIRE_MESSAGE(result.code == 0, result.err);
  const nlohmann::json trace = nlohmann::json::parse(text_of(file));
  std::set<std::string> called;
  double last_end = 0;
  for (const auto& event : trace) {
    if (event["ph"] != "X") continue;
    CHECK(event["dur"].get<double>() >= 0);
    last_end = std::max(last_end, event["ts"].get<double>() + event["dur"].get<double>());
    called.insert(event["name"].get<std::string>());
  }
  CHECK(called.contains("photons"));
  CHECK(called.contains("file"));
  CHECK(last_end > 0);
  CHECK(last_end < 600e6);  // microseconds since the run began
}

TEST_CASE("an address that cannot be had, and a trace that cannot be written, are wrong input") {
  const TemporaryFolder folder;
  const CommandResult address = simulate_into(folder, "--metrics nonsense");
  CHECK(address.code == 2);
  CHECK(address.err ==
        "tofstream: --metrics nonsense: cannot listen there: give a free host:port, such as "
        "127.0.0.1:9464\n");
  const CommandResult trace = simulate_into(folder, "--trace /nowhere/trace.json");
  CHECK(trace.code == 2);
  CHECK(trace.err.find("/nowhere/trace.json") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder / "scan.petsird"));
}

TEST_CASE("a program that is killed in the middle leaves no file that passes for a result") {
  const TemporaryFolder folder;
  const CommandResult result = simulate_into(folder, "--set 'file.fault={kill_at: 2}'");
  CHECK(result.code == 128 + 9);
  CHECK_FALSE(std::filesystem::exists(folder / "scan.petsird"));
  CHECK(nlohmann::json::parse(text_of(folder / "run.json"))["exit_code"].is_null());  // how it ended is not known
}
// SPDX-License-Identifier: Apache-2.0
