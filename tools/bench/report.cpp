// Prints, writes and judges a benchmark's results: see bench.hpp.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.hpp"
#include "tools/bench/bench.hpp"
#include "tools/bench/verdict.hpp"
#include "tools/command/errors.hpp"

namespace tofstream::command {

using nlohmann::ordered_json;

void write_report(const ordered_json& report, bool print, const std::string& output) {
  if (print) fmt::print("{}\n", report.dump(2));
  if (output.empty()) return;
  AtomicFile file(output);
  file.write(report.dump(2) + "\n");
  file.commit();
}

void end_by_verdict(const ordered_json& rows, const std::vector<std::string>& name_keys) {
  const std::vector<std::string> failed = failures(rows, name_keys);
  if (failed.empty()) return;
  fmt::print(stderr, "tofstream-bench: {} of {} results do not hold: {}\n", failed.size(), rows.size(),
             fmt::join(failed, ", "));
  throw ExitWith{1};
}

void add_wrong_option(Command& line, double& share) {
  line.add_option("--wrong", share, "For tests: results too large by this share").hide();
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
