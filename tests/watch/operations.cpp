// What share/operations holds for Grafana, Prometheus, Compose and systemd: it parses, and names only metrics that a run
// exports.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/value/document.hpp"
#include "fake_run.hpp"
#include "tests/command/command.hpp"
#include "tests/support/skip.hpp"
#include "tests/watch/scrape.hpp"
#include "tools/watch/metrics.hpp"

using namespace tofstream;
using namespace tofstream::test;

namespace {

const std::string folder = "share/operations/";

std::string shared_file(const std::string& name) {
  std::ifstream stream(folder + name);
  REQUIRE_MESSAGE(stream, name);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::set<std::string> names_in(const std::string& text) {
  static const std::regex metric("tofstream_[a-z0-9_]+");
  std::set<std::string> names;
  for (std::sregex_iterator found(text.begin(), text.end(), metric), end; found != end; ++found)
    names.insert(found->str());
  return names;
}

// By a run in which everything happens that a metric counts.
std::set<std::string> exported() {
  FakeRun run;
  run.report.edges[0].limits.policy = EdgePolicy::spill;
  run.report.gadgets[1].books.lost["missing"] = 1;
  run.report.books.lost["missing"] = 1;
  const MetricsEndpoint endpoint(run, {"127.0.0.1:0"});
  return names_in(scrape(endpoint.port()));
}

void check_names(const std::string& text) {
  static const std::set<std::string> there = exported();
  const auto names = names_in(text);
  CHECK(names.size() > 3);
  for (const std::string& name : names) CHECK_MESSAGE(there.contains(name), name, " is not exported");
}

Value parsed(const std::string& name) {
  Problems problems;
  Value value = parse_document(shared_file(name), name, problems);
  CHECK_MESSAGE(problems.empty(), name);
  return value;
}

const Value& at(const Value& map, const char* key) {
  const Value* found = map.find(key);
  REQUIRE_MESSAGE(found, key);
  return *found;
}

}  // namespace

TEST_CASE("the Grafana dashboard parses, and its panels ask for metrics that are exported") {
  const std::string text = shared_file("grafana-dashboard.json");
  check_names(text);
  const auto board = nlohmann::json::parse(text);
  std::set<int> ids;
  for (const auto& panel : board["panels"]) {
    CHECK(ids.insert(panel["id"].get<int>()).second);
    CHECK(!panel["targets"].empty());
    for (const auto& target : panel["targets"])
      CHECK_MESSAGE(!names_in(target["expr"].get<std::string>()).empty(), target["expr"]);
  }
  CHECK(ids.size() > 8);
}

TEST_CASE("the alert rules parse, and look at metrics that are exported") {
  check_names(shared_file("prometheus-alerts.yaml"));
  const Value rules = parsed("prometheus-alerts.yaml");
  for (const Value& group : at(rules, "groups").items)
    for (const Value& rule : at(group, "rules").items) {
      CHECK(at(rule, "alert").text.starts_with("Tofstream"));
      CHECK(!names_in(at(rule, "expr").text).empty());
      CHECK(!at(at(rule, "annotations"), "summary").text.empty());
    }
}

TEST_CASE("Prometheus accepts its configuration, and each alert comes when it should") {
  if (run_line("promtool --version").code != 0) return skip_test("promtool");  // Debian: apt install prometheus
  const auto accepted = [](const std::string& what) {
    const auto result = run_line("promtool " + what);
    CHECK_MESSAGE(result.code == 0, result.out, result.err);
  };
  accepted("check config " + folder + "prometheus.yaml");
  accepted("test rules tests/watch/alerts.yaml");
}

TEST_CASE("Compose accepts its file") {
  const std::string file = " -f " + folder + "compose.yaml config --quiet";
  for (const std::string compose : {"docker compose", "docker-compose"}) {
    if (run_line(compose + " version").code != 0) continue;
    const auto result = run_line(compose + file);
    CHECK_MESSAGE(result.code == 0, result.err);
    return;
  }
  skip_test("Docker Compose");
}

TEST_CASE("Prometheus is given the rules, and Compose the files that are there") {
  CHECK(at(parsed("prometheus.yaml"), "rule_files").items.at(0).text == "prometheus-alerts.yaml");
  const Value compose = parsed("compose.yaml");
  for (const char* service : {"prometheus", "grafana"})
    for (const Value& volume : at(at(at(compose, "services"), service), "volumes").items)
      if (volume.text.starts_with("./")) shared_file(volume.text.substr(2, volume.text.find(':') - 2));
}

TEST_CASE("the files for Kubernetes and Slurm parse") {
  CHECK(at(parsed("kubernetes.yaml"), "kind").text == "List");
  CHECK(run_line("bash -n " + folder + "slurm-fleet.sh").code == 0);
}

TEST_CASE("the systemd unit ends a run as an operator does, and gives it the time that draining may take") {
  const std::string unit = shared_file("tofstream-live@.service");
  CHECK(unit.find("\nKillSignal=SIGINT\n") != std::string::npos);
  CHECK(unit.find("\nTimeoutStopSec=45\n") != std::string::npos);
  CHECK(unit.find("tofstream run") != std::string::npos);
  CHECK(unit.find("\nRestartPreventExitStatus=2\n") != std::string::npos);  // wrong input stays wrong
}
// SPDX-License-Identifier: Apache-2.0
