// External signals of PETSIRD files: traces and triggers as they stand in the file, and gates by them.
#include "gadgets/gating/petsird_signal.hpp"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/gadgets/numbered_events.hpp"
#include "tests/io/petsird_toy.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;

namespace {

using petsird::ExternalSignalBlock;
using Type = petsird::ExternalSignalType;

/// A file with these signals in its header, and these blocks behind it, between two of events.
std::filesystem::path signal_file(const std::filesystem::path& path, std::vector<petsird::ExternalSignal> signals,
                                  const std::vector<ExternalSignalBlock>& blocks) {
  petsird::Header header = petsird::toy::header();
  header.exam = petsird::toy::exam();
  header.exam->external_signals = std::move(signals);
  std::ofstream file(path, std::ios::binary);
  petsird::Writer writer(
      [&](std::span<const std::byte> piece) {
        file.write(reinterpret_cast<const char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
      },
      header);
  const auto events = petsird::toy::events(5, {24, 24, 5}, true);
  writer.write_events({0, 1000}, {events});
  for (const ExternalSignalBlock& block : blocks) writer.write_block(block);
  writer.write_events({1000, 2000}, {events});
  writer.finish();
  return path;
}

ExternalSignalBlock signal_block(std::uint32_t begin_ms, std::uint32_t end_ms, std::uint32_t id,
                                 std::vector<float> values) {
  ExternalSignalBlock block;
  block.interval = {begin_ms, end_ms};
  block.signal_id = id;
  block.values = std::move(values);
  return block;
}

std::string signal_error_of(const std::filesystem::path& file, std::optional<std::uint32_t> id = {}) {
  try {
    read_petsird_signal(file, id);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a trace of a PETSIRD file has its samples evenly over their blocks, in order of time") {
  const TemporaryFolder folder;
  const auto file =
      signal_file(folder / "s.petsird", {{Type::respiration_trace, "belt", 3}, {Type::ecg_trace, "", 9}},
                  {signal_block(2000, 4000, 3, {5, 6, 7, 8}), signal_block(0, 1000, 9, {100, 200}),
                   signal_block(0, 2000, 3, {1, 2, 3, 4}), signal_block(2000, 4000, 3, {-5, -6, -7, -8})});
  const MotionSignal belt = read_petsird_signal(file, 3);
  CHECK(belt.value == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});  // of two at one time the first
  REQUIRE(belt.time_s.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK(belt.time_s[i] == approx(0.25 + 0.5 * static_cast<double>(i)));
  CHECK(read_petsird_signal(file, 9).value == std::vector<double>{100, 200});
}

TEST_CASE("triggers of a PETSIRD file are the times at which their blocks begin, and have no values") {
  const TemporaryFolder folder;
  for (const Type type : {Type::ecg_trigger, Type::respiration_trigger, Type::other_motion_trigger, Type::external_sync,
                          Type::mr_pulse_start}) {
    const auto file = signal_file(
        folder / "s.petsird", {{type, "R wave", 0}},
        {signal_block(900, 900, 0, {1}), signal_block(100, 101, 0, {}), signal_block(1800, 1800, 0, {1, 1})});
    const MotionSignal signal = read_petsird_signal(file, std::nullopt);
    CHECK(signal.time_s == std::vector<double>{0.1, 0.9, 1.8});
    CHECK(signal.value.empty());
  }
}

TEST_CASE("a PETSIRD file without the signal that is asked for is one error that says which there are") {
  const TemporaryFolder folder;
  const auto two =
      signal_file(folder / "two.petsird", {{Type::respiration_trace, "belt", 3}, {Type::ecg_trigger, "", 9}},
                  {signal_block(0, 1000, 3, {1})});
  const std::string names = "two.petsird: signal_id must name one of its signals: 3 (belt), 9 (without a name)";
  CHECK(signal_error_of(two).ends_with(names));
  CHECK(signal_error_of(two, 4).ends_with(names));
  CHECK(signal_error_of(two, 9).ends_with("two.petsird: signal 9 has no values"));
  CHECK(signal_error_of(two, 3) == "none");
  CHECK(signal_error_of(signal_file(folder / "none.petsird", {}, {}))
            .ends_with("none.petsird: it has no external signals"));
  CHECK(signal_error_of(folder / "missing.petsird").ends_with("missing.petsird: cannot be read"));
  std::filesystem::resize_file(two, std::filesystem::file_size(two) - 9);
  CHECK(signal_error_of(two, 3).find("two.petsird: ") != std::string::npos);
}

TEST_CASE("gates by a PETSIRD file's signal are those of a table with the same samples") {
  const TemporaryFolder folder;
  std::vector<float> values;
  for (int i = 0; i < 40; ++i) values.push_back(static_cast<float>(i % 10 < 5 ? i % 10 : 10 - i % 10));
  const auto file =
      signal_file(folder / "s.petsird", {{Type::respiration_trace, "belt", 3}}, {signal_block(0, 20000, 3, values)});
  std::ofstream table(folder / "t.csv");
  table << "time_s,value\n";
  for (std::size_t i = 0; i < values.size(); ++i)
    table << fmt::format("{},{}\n", 0.25 + 0.5 * static_cast<double>(i), values[i]);
  table.close();
  const auto gates_of = [&](const std::string& signal) {
    RegisteredGadgetTest<EventSubset> gadget(
        "gating", fmt::format("{{backend: cpu, gates: 3, subsets: 1, least_events: 0, {}}}", signal), folder.path());
    for (int first = 0; first < 200; first += 2) gadget.send(testing::numbered_batch(first, 2, 0.1 * first, 0.2));
    gadget.finish();
    std::vector<std::vector<int>> all;
    for (const auto& subset : gadget.out.all())
      if (!subset->step.restart) all.push_back(testing::numbers(*subset));
    return all;
  };
  const auto gates = gates_of("signal: petsird, file: " + file.string());
  CHECK(gates.size() == 3);
  CHECK(gates == gates_of("signal: table, file: " + (folder / "t.csv").string()));
}
// SPDX-License-Identifier: Apache-2.0
