// Bad streams: each ends with one line that says where, what and what to do.
#include "gadgets/io/petsird/standard_schema.hpp"
#include "tests/io/petsird_toy.hpp"

namespace {

using namespace tofstream::petsird;

toy::Bytes from_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void check_error(const toy::Bytes& bytes, const std::string& part) {
  for (const std::size_t chunk : {0, 1, 50}) {
    const std::string what = toy::error_of(bytes, chunk);
    CAPTURE(what);
    CAPTURE(part);
    CHECK(what.find(part) != std::string::npos);
    CHECK(what.find('\n') == std::string::npos);
    CHECK(what.find(';') != std::string::npos);  // and then what to do
  }
}

/// The toy stream up to the first time block.
toy::Bytes header_bytes(const Header& header = toy::header()) {
  toy::Bytes bytes;
  Writer(toy::sink_to(bytes), header).flush();
  return bytes;
}

void append(toy::Bytes& bytes, std::initializer_list<std::uint64_t> varints) {
  for (const std::uint64_t value : varints) append_varint(bytes, value);
}

toy::Bytes with(const std::vector<std::uint64_t>& varints) {
  toy::Bytes bytes = header_bytes();
  for (const std::uint64_t value : varints) append_varint(bytes, value);
  return bytes;
}

}  // namespace

TEST_CASE("PETSIRD errors: what is not a PETSIRD stream") {
  check_error({}, "is empty (0 bytes)");
  check_error(from_text("pipeline: x\nimage: y\n"), "byte 0: this is text; tofstream reads PETSIRD in its binary form");
  check_error(from_text("hi\n"), "byte 0: this is text");
  check_error(from_text("{\"yardl\":{\"version\":1}}"), "byte 0: this is JSON");
  check_error(from_text("\x89HDF\r\n\x1a\n123456"), "byte 0: this is an HDF5 file");
  check_error(from_text(std::string_view("\x01\x02\x00\x04\x05\x06\x07\x08\x09", 9)), "byte 0: unknown data");
  check_error(from_text(std::string_view("yardl\x02\x00\x00\x00xxxx", 13)),
              "byte 5: yardl format version 2, but only version 1 is known");
  check_error(from_text("yardl"), "ends at byte 5 in the middle of its first 9 bytes");
}

TEST_CASE("PETSIRD errors: a bad schema") {
  const std::string_view start("yardl\x01\x00\x00\x00", 9);
  check_error(from_text(std::string(start) + std::string(1, '\0')), "a schema of 0 bytes is not plausible");
  check_error(from_text(std::string(start) + "\xff\xff\xff\xff\xff\x7f"), "is not plausible");
  check_error(from_text(std::string(start) + "\x05" + "hello"), "not the JSON expected");
  check_error(from_text(std::string(start) + "\x05" + "he"), "ends at byte 12 in the middle of its schema");
  const std::string other = R"({"protocol":{"name":"Other","sequence":[{"name":"x","type":"int32"}]},"types":[]})";
  check_error(from_text(std::string(start) + static_cast<char>(other.size()) + other),
              "lacks what is needed to read coincidences: header is missing");
}

TEST_CASE("PETSIRD errors: one line, even if a stream's names have several") {
  CHECK(std::string(Error("type a\nb\x1b is unknown").what()) == "type a b  is unknown");
}

TEST_CASE("PETSIRD errors: a name that is not UTF-8 is replaced, with a warning") {
  toy::Bytes bytes = toy::stream(3);
  const std::string name = "TOY \xCE\xB3";
  const auto view = std::as_bytes(std::span(name));
  const auto at = std::search(bytes.begin(), bytes.end(), view.begin(), view.end());
  REQUIRE(at != bytes.end());
  *(at + 5) = std::byte{'x'};
  toy::Recording recording;
  toy::decode(bytes, recording);
  CHECK(recording.header.scanner.model_name == "TOY \xEF\xBF\xBDx");
  REQUIRE(recording.warnings.size() == 1);
  CHECK(recording.warnings[0].find("modelName is not UTF-8") != std::string::npos);
}

TEST_CASE("PETSIRD errors: cut short") {
  const toy::Bytes bytes = toy::stream(20);
  check_error({bytes.begin(), bytes.begin() + 5000}, "ends at byte 5000 in the middle of its schema");
  check_error({bytes.begin(), bytes.begin() + 12'945},
              "in the middle of header.scanner.scannerGeometry.replicatedModules");
  const auto in_events = static_cast<std::ptrdiff_t>(header_bytes().size()) + 20;
  check_error({bytes.begin(), bytes.begin() + in_events},
              "in the middle of timeBlocks.EventTimeBlock.promptEvents[0][0] (time block 1)");
}

TEST_CASE("PETSIRD errors: every cut is noticed, at a block boundary as a warning") {
  const toy::Bytes bytes = toy::stream(3);
  std::size_t warnings = 0;
  for (std::size_t size = header_bytes().size(); size < bytes.size(); ++size) {
    toy::Recording recording;
    try {
      toy::decode(std::span(bytes).first(size), recording);
      CHECK(recording.warnings.size() == 1);
      ++warnings;
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(fmt::format("ends at byte {} ", size)) != std::string::npos);
    }
  }
  CHECK(warnings == 11);  // before the first block and after each of ten
}

TEST_CASE("PETSIRD errors: bytes after the end") {
  toy::Bytes bytes = toy::stream(3);
  const std::size_t size = bytes.size();
  bytes.push_back(std::byte{0});
  check_error(bytes, fmt::format("byte {}: 1 bytes or more follow the end of the stream", size));
}

TEST_CASE("PETSIRD errors: an event that another core finds wrong is named as one that is read byte by byte") {
  const toy::Bytes good = toy::stream(100'000);
  for (const std::size_t at : {std::size_t{20'000}, std::size_t{150'001}, std::size_t{250'002}}) {
    CAPTURE(at);
    for (const int bytes : {1, 12}) {  // a number out of range, and one that is too long
      toy::Bytes bad = good;
      const auto first = bad.begin() + static_cast<std::ptrdiff_t>(at);
      std::fill(first, first + bytes, std::byte{0xff});
      const std::string by_cores = toy::error_of(bad);
      CHECK(by_cores.find("the stream is damaged") != std::string::npos);
      CHECK(by_cores == toy::error_of(bad, 1'000));
    }
  }
  toy::Bytes both = good;  // the first of two mistakes counts, even if it is found later
  both[200'000] = std::byte{0xff};
  const std::string first = toy::error_of(both, 1'000);
  both.push_back(std::byte{7});  // after the end of the stream
  CHECK(toy::error_of(both) == first);
}

TEST_CASE(
    "PETSIRD errors: what a handler refuses comes after a wrong event before it, and after the events before it") {
  struct Refusing : Handler {
    std::size_t put = 0, decoded = 0;
    std::size_t room(EventKind, TypePair) override { return 1'000'000; }
    PutEvents writer(EventKind, TypePair) override {
      return [](std::size_t, std::span<const CoincidenceEvent>) {};
    }
    void on_put(EventKind, TypePair, std::size_t events) override { put += events; }
    void on_decoded() override { decoded = put; }
    void on_block_end(BlockKind) override { throw std::out_of_range("mine"); }
  };
  toy::Bytes bytes = toy::stream(100'000);
  Refusing of_good;
  CHECK_THROWS_AS(Decoder(of_good).push(bytes), std::out_of_range);
  CHECK(of_good.decoded > 90'000);
  bytes[200'000] = std::byte{0xff};
  Refusing of_bad;
  CHECK_THROWS_AS(Decoder(of_bad).push(bytes), Error);
  CHECK(of_bad.put > 90'000);
  CHECK(of_bad.decoded == 0);
}

TEST_CASE("PETSIRD errors: events out of range") {
  // one block; event block; 0..1 ms; no singles; two rows, the first of one list of two events
  check_error(with({1, 0, 0, 1, 0, 2, 1, 2, 5, 4, 0, 24, 3, 0}),
              "prompt 2 of 2, which ends here, is (24, 3) in ToF bin 0, but types 0 and 0 have 24 and 24 detection "
              "bins and 5 ToF bins");
  check_error(with({1, 0, 0, 1, 0, 2, 1, 1, 5, 4, 5}), "is (5, 4) in ToF bin 5");
  check_error(with({1, 0, 0, 1, 0, 2, 1, 0, 2, 1, 3, 24, 0}), "is (3, 24) in ToF bin 0, but types 1 and 0");
  check_error(with({1, 0, 0, 1, 0, 2, 1, 1, 1ULL << 35U}), "does not fit 32 bits");
  const std::string what = toy::error_of(with({1, 0, 0, 1, 0, 2, 1, 2, 5, 4, 0, 24, 3, 0}));
  CHECK(what.find(fmt::format("byte {}, in timeBlocks.EventTimeBlock.promptEvents[0][0] (time block 1)",
                              header_bytes().size() + 14)) != std::string::npos);
}

TEST_CASE("PETSIRD errors: bad structure") {
  check_error(with({1, 6}), "a union has case 6 of 6");
  check_error(with({1, 0, 1ULL << 33U}),
              "EventTimeBlock.timeInterval.start: a number that ends here does not fit 32 bits");
  toy::Bytes bytes = header_bytes({toy::scanner(), {}});
  bytes.back() = std::byte{7};  // whether there is exam information
  check_error(bytes, "header.exam: an optional begins with 7, not 0 or 1");
}

TEST_CASE("PETSIRD errors: a count that nothing can follow takes no memory") {
  toy::Bytes bytes = with({1, 1, 0, 1, 3});  // an external signal ...
  append(bytes, {~0ULL});                    // ... of 2^64 - 1 values
  check_error(bytes, "in the middle of timeBlocks.ExternalSignalTimeBlock.signalValues");
  bytes = with({1, 5, 0, 1, ~0ULL, ~0ULL});  // that many singles histograms, each with that many bins
  check_error(bytes, "in the middle of timeBlocks.SinglesHistogramTimeBlock.singlesHistograms[0]");
}

TEST_CASE("PETSIRD errors: headers that do not fit together") {
  const auto check = [](const auto& change, const std::string& part) {
    Header header = toy::header();
    change(header.scanner);
    toy::Bytes bytes;
    std::string what;
    try {
      Writer writer(toy::sink_to(bytes), header);
    } catch (const Error& error) {
      what = error.what();
    }
    CAPTURE(what);
    CHECK(what.find(part) != std::string::npos);
    CHECK(what.find("correct the program that wrote it") != std::string::npos);
  };
  using S = ScannerInformation;
  check([](S& s) { s.geometry.replicated_modules.clear(); }, "replicatedModules is empty");
  check([](S& s) { s.event_energy_bin_edges_keV.pop_back(); }, "eventEnergyBinEdges has 1 entries for 2 types");
  check([](S& s) { s.event_energy_bin_edges_keV[1] = {450}; }, "eventEnergyBinEdges[1] has no bins");
  check([](S& s) { s.tof_bin_edges_mm.pop_back(); }, "tofBinEdges has 1 rows for 2 types");
  check([](S& s) { s.tof_bin_edges_mm[1].pop_back(); }, "tofBinEdges[1] is too short");
  check([](S& s) { s.tof_bin_edges_mm[0][0][2] = -30; }, "tofBinEdges[0][0] does not ascend");
  check([](S& s) { s.tof_bin_edges_mm[0][0][2] = NAN; }, "tofBinEdges[0][0] has an edge that is not a number");
  check([](S& s) { s.tof_resolution_fwhm_mm[1][1] = INFINITY; }, "tofResolution[1][1] is not a number");
  check([](S& s) { s.geometry.replicated_modules[1].transforms[0][3] = NAN; },
        "replicatedModules[1].transforms has a number that is not finite");
  check([](S& s) { s.geometry.replicated_modules[0].object.detecting_elements.object.shape[7][2] = NAN; },
        "not finite");
  check([](S& s) { s.efficiencies.calibration_factor = NAN; }, "calibrationFactor is not a number");
  check([](S& s) { s.efficiencies.detection_bin_efficiencies[0].pop_back(); }, "has 23 entries for 24 detection bins");
  check([](S& s) { s.efficiencies.detection_bin_efficiencies[1][0] = NAN; }, "not finite");
  check([](S& s) { s.efficiencies.module_pair_sgid_lut[0][0].pop_back(); },
        "modulePairSGIDLUT[0][0] has 2 rows for 3 modules");
  check([](S& s) { s.efficiencies.module_pair_sgid_lut[0][0][2].pop_back(); },
        "modulePairSGIDLUT[0][0][2] is too short");
  check([](S& s) { s.efficiencies.module_pair_sgid_lut[0][0][2][1] = 2; }, "names symmetry group 2 of 2");
  check([](S& s) { s.efficiencies.module_pair_efficiencies[0][0][0].values.pop_back(); },
        "has 7 rows for 8 bins of a module");
  check([](S& s) { s.efficiencies.module_pair_efficiencies[1][0][0].values[0].pop_back(); },
        "has a row of 7 for 8 bins");
}
// SPDX-License-Identifier: Apache-2.0
