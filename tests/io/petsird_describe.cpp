// The summary of a stream.
#include <random>

#include <nlohmann/json.hpp>

#include "gadgets/io/petsird/describe.hpp"
#include "tests/io/petsird_toy.hpp"

namespace {

using namespace tofstream::petsird;

nlohmann::json describe(const toy::Bytes& bytes) {
  Summariser summariser;
  Decoder decoder(summariser);
  decoder.push(bytes);
  decoder.finish();
  return to_json(summariser.summary(decoder));
}

}  // namespace

TEST_CASE("PETSIRD summary: counts, checksums and bins") {
  const nlohmann::json json = describe(toy::stream(3000));
  CHECK(json["format"] == "PETSIRD");
  CHECK(json["schema_sha256"] == "f0d2313d714872eab064fb1bf29a669e2750aa11be2040bddc9fd2adf9a8e9b9");
  CHECK(json["time_blocks"] == 10);
  CHECK(json["time_blocks_by_kind"]["external_signal"] == 2);
  CHECK(json["prompts"] == 3013);
  CHECK(json["delayeds"] == 3);
  CHECK(json["detection_bins"] == 28);
  CHECK(json["tof_bins"] == nlohmann::json::parse("[[5],[1,4]]"));
  CHECK(json["modules"] == 5);
  CHECK(json["module_types"].size() == 2);
  CHECK(json["efficiency_tables"] == 4);
  CHECK(json["duration_ms"] == 400);
  CHECK(json["prompts_per_block"]["min"] == 0);
  CHECK(json["prompts_per_block"]["max"] == 3009);
  CHECK(json["warnings"].empty());
  std::uint64_t sum_bin1 = 0;
  std::uint64_t sum_tof = 0;
  const auto add = [&](const std::vector<CoincidenceEvent>& events) {
    for (const auto& event : events) {
      sum_bin1 += event.bin1;
      sum_tof += event.tof;
    }
  };
  add(toy::events(3000, {24, 24, 5}, true));
  add(toy::events(7, {4, 24, 1}, false));
  for (int i = 0; i < 3; ++i) add(toy::events(2, {4, 4, 4}, true));
  CHECK(json["prompt_checksums"]["sum_bin1"] == sum_bin1);
  CHECK(json["prompt_checksums"]["sum_tof"] == sum_tof);
  CHECK(json["first_prompts"].size() == 5);
}

TEST_CASE("PETSIRD summary: one type of modules has one number of ToF bins; a stream without blocks is one") {
  Header header = toy::header();
  ScannerInformation& s = header.scanner;
  s.geometry.replicated_modules.pop_back();
  s.tof_bin_edges_mm.pop_back();
  s.tof_resolution_fwhm_mm.pop_back();
  s.event_energy_bin_edges_keV.pop_back();
  s.efficiencies = {};
  toy::Bytes bytes;
  Writer writer(toy::sink_to(bytes), header);
  writer.finish();
  const nlohmann::json json = describe(bytes);
  CHECK(json["tof_bins"] == 5);
  CHECK(json["time_blocks"] == 0);
  CHECK(json["duration_ms"] == 0);
  CHECK(json["prompts_per_block"]["min"] == 0);
}

TEST_CASE("PETSIRD summary: of a file, or why there is none") {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("tofstream_petsird_{}.petsird", std::random_device()());
  const toy::Bytes bytes = toy::stream(100);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const Summary summary = summarise_file(path);
  CHECK(summary.bytes == bytes.size());
  CHECK(summary.counts.prompts == 113);
  CHECK(summary.smaller_bin_first == 0);
  std::filesystem::remove(path);
  CHECK_THROWS_AS(summarise_file(path), Error);
}
// SPDX-License-Identifier: Apache-2.0
