// Small gadgets that the runtime's tests are made of: numbered batches, and steps that filter,
// delay, throw or count.
#pragma once
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <unistd.h>

#include "core/gadget.hpp"
#include "core/run/engine.hpp"

namespace tofstream::test {

struct Batch {
  std::uint64_t number = 0;
  std::uint64_t events = 10;
  std::vector<std::uint64_t> load;  // that makes it large
  std::uint64_t event_count() const { return events; }
  std::size_t bytes() const { return 1000 + load.size() * sizeof(std::uint64_t); }
};

struct Picture {
  double value = 0;
};

// What the gadgets of one test saw; the test makes one, and the gadgets find it.
struct Witness {
  Witness() { current = this; }
  ~Witness() { current = nullptr; }

  void saw(const std::string& who, std::uint64_t number) {
    const std::lock_guard lock(mutex);
    numbers[who].push_back(number);
  }
  void saw_address(const void* address) {
    const std::lock_guard lock(mutex);
    addresses.push_back(address);
  }
  void note(const std::string& text) {
    const std::lock_guard lock(mutex);
    notes.push_back(text);
  }

  std::mutex mutex;
  std::map<std::string, std::vector<std::uint64_t>> numbers;
  std::vector<const void*> addresses;
  std::vector<std::string> notes;
  std::atomic<int> in_process = 0;
  std::function<void(std::uint64_t)> on_sink;  // called by `collect` for each message
  inline static Witness* current = nullptr;
};

// A folder that is removed at the end of the test.
struct TemporaryFolder {
  TemporaryFolder()
      : path(std::filesystem::temp_directory_path() /
             ("tofstream_core_" + std::to_string(::getpid()) + "_" + std::to_string(counter++))) {
    std::filesystem::create_directories(path);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
  inline static std::atomic<int> counter = 0;
};

// Runs a pipeline given as text.
inline RunReport run_text(std::string_view yaml, const EngineOptions& options = {},
                          const PipelineOptions& pipeline_options = {}) {
  Engine engine(parse_pipeline(yaml, "test.yaml", pipeline_options), options);
  return engine.run();
}

inline const GadgetReport& gadget(const RunReport& report, const std::string& name) {
  return *std::ranges::find(report.gadgets, name, &GadgetReport::name);
}

inline std::vector<std::uint64_t> counted(std::uint64_t n) {
  std::vector<std::uint64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  return numbers;
}

}  // namespace tofstream::test

namespace tofstream {
template <>
struct PayloadName<test::Batch> {
  static constexpr auto value = "events";
};
template <>
struct Spill<test::Batch> {
  static void encode(const test::Batch& batch, SpillWriter& to);
  static test::Batch decode(SpillReader& from);
};
template <>
struct PayloadName<test::Picture> {
  static constexpr auto value = "image";
};
}  // namespace tofstream

namespace doctest {
// Shows messages in a failed comparison.
template <>
struct StringMaker<std::vector<std::string>> {
  static String convert(const std::vector<std::string>& lines) {
    return fmt::format("\n  {}", fmt::join(lines, "\n  ")).c_str();
  }
};
}  // namespace doctest
// SPDX-License-Identifier: Apache-2.0
