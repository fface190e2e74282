// Fuzzes the readers of a normalisation's and of dead times' YAML: any text is read, or refused in one line, and what
// was read is written and read again as it was. The input is a kind (even: a normalisation, odd: dead times) and the text.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/private_folder.hpp"
#include "gadgets/ring/io/dead_time_yaml.hpp"
#include "gadgets/ring/io/normalisation_yaml.hpp"

namespace {

using namespace tofstream;
using namespace tofstream::formats;

std::filesystem::path yaml_file() {
  static const PrivateTemporaryFolder folder;
  return folder.path() / "written.yaml";
}

// Numbers are written with five digits or more.
template <class T>
void same_or_abort(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) std::abort();
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!(std::abs(a[k] - b[k]) <= T(1e-4) * std::abs(a[k]))) std::abort();
}

void read_normalisation_text(const std::string& text) {
  const NormalisationComponents first = parse_normalisation(text, "fuzz");
  if (first.calibration < 0) std::abort();
  write_normalisation(yaml_file(),
                      {.crystal_efficiency = first.crystal_efficiency,
                       .calibration = first.calibration,
                       .class_factor = first.class_factor},
                      {});
  const NormalisationComponents again = read_normalisation(yaml_file());
  same_or_abort(first.crystal_efficiency, again.crystal_efficiency);
  same_or_abort(first.class_factor, again.class_factor);
}

void read_dead_time_text(const std::string& text) {
  const ModuleDeadTimes first = parse_dead_times(text, "fuzz");
  write_dead_times(yaml_file(), first, {}, {});
  const ModuleDeadTimes again = read_dead_times(yaml_file());
  if (first.model != again.model) std::abort();
  same_or_abort(first.dead_time_us, again.dead_time_us);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    data[0] % 2 == 0 ? read_normalisation_text(text) : read_dead_time_text(text);
  } catch (const std::runtime_error& refused) {
    if (std::string(refused.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
