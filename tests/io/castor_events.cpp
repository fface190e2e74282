// CASToR's events as batches: the terms of the model in closed form for every mode, times, mean lines, what is left out,
// and events that cannot be.
#include <cmath>

#include "core/base/private_folder.hpp"
#include "gadgets/io/castor/event_reader.hpp"
#include "gadgets/io/castor/geometry.hpp"
#include "gadgets/io/castor/quantity.hpp"
#include "gadgets/io/castor/to_scanner.hpp"
#include "kernels/math/units.hpp"
#include "tests/io/castor_support.hpp"
#include "tests/support/approx.hpp"

using namespace tofstream;
using namespace tofstream::castor;
using namespace tofstream::castor::testing;

namespace {

constexpr double mm_a_ps = speed_of_light_mm_ps / 2;

std::vector<EventBatch> read_all(const DataHeader& header, const ReadSettings& settings = {}) {
  const DataHeader read = read_data_header(header.file);
  EventReader reader(read, to_scanner(read_geometry(find_geometry(read, {})), read, Frame::castor).scanner, settings);
  std::vector<EventBatch> batches;
  while (auto batch = reader.next()) batches.push_back(std::move(*batch));
  CHECK(reader.done() == 1);
  return batches;
}

DataHeader with_all_terms(const std::filesystem::path& folder) {
  DataHeader header = small_header(folder);
  header.has_attenuation = header.has_normalisation = header.has_scatter = header.has_randoms = true;
  header.calibration = 5;
  return header;
}

Record record_of_terms() {
  return {.time_ms = 3, .attenuation = 2, .scatter = 0.03f, .randoms = 0.4f, .normalisation = 4, .lines = {{0, 16}}};
}

std::string error_of(const DataHeader& header, const Record& record) {
  std::vector<Record> records(3, Record{.bins = record.bins, .lines = {{0, 8}}});
  records.push_back(record);
  write_scan(header, records);
  try {
    (void)read_all(header);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("CASToR: m and additive terms without ToF, as measured, in steps, and of a histogram's bins") {
  const PrivateTemporaryFolder folder;
  constexpr double divided = 2 * 4 * 5, seconds = 3;  // attenuation x normalisation x calibration, and T
  DataHeader header = with_all_terms(folder.path());
  Record record = record_of_terms();
  write_scan(header, {record});
  const auto lines = read_all(header, {.reference_s = seconds});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].multiplicative[0] == approx(1 / divided));
  CHECK(lines[0].additive[0] == approx(0.43 * seconds * divided));
  CHECK(lines[0].tof_mm.empty());
  CHECK(lines[0].scanner->calibration == approx(0.2));

  header.has_tof = true;
  header.tof_fwhm_ps = 400;
  header.tof_range_ps = 4000;
  record.tof_ps = 250;
  write_scan(header, {record});
  const auto measured = read_all(header);
  const double range_mm = 4000 * mm_a_ps;
  CHECK(measured[0].tof_mm[0] == approx(250 * mm_a_ps));
  CHECK(measured[0].tof.sigma_mm == approx(400 * mm_a_ps / fwhm_per_sigma));
  CHECK(measured[0].tof.bin_width_mm == 0);
  CHECK(measured[0].tof.window_mm == approx(range_mm));
  CHECK(measured[0].additive[0] == approx((0.03 + 0.4 / range_mm) * divided));
  CHECK_THROWS_WITH(read_all(header, {.tof = false}), doctest::Contains("scatter rates are per mm of ToF"));

  header.tof_quantum_ps = 20;
  write_scan(header, {record});
  CHECK(read_all(header)[0].additive[0] == approx((0.03 + 0.4 / range_mm) * 20 * mm_a_ps * divided));

  header.mode = DataMode::histogram;
  header.tof_bins = 4;
  header.tof_bin_ps = 500;
  record.bins = {{3, 0.01f}, {0, 0.02f}, {2, 0.03f}, {1, 0.04f}};
  write_scan(header, {record});
  const auto bins = read_all(header);
  REQUIRE(bins.size() == 1);
  CHECK(bins[0].count == 3);
  CHECK(bins[0].event_count() == 6);
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto b = bins[0].counts[i] == 3 ? 0 : bins[0].counts[i] == 2 ? 2 : 3;
    CHECK(bins[0].tof_mm[i] == approx((b - 1.5) * 500 * mm_a_ps));
    CHECK(bins[0].additive[i] == approx((0.01 * (b + 1) + 0.1) * divided));
  }
  CHECK(bins[0].tof.bin_width_mm == approx(500 * mm_a_ps));
  const auto whole = read_all(header, {.tof = false});
  CHECK(whole[0].count == 1);
  CHECK(whole[0].counts[0] == 6);
  CHECK(whole[0].additive[0] == approx(0.5 * divided));
}

TEST_CASE("CASToR: without flags events have no terms, and with some of them only those") {
  const PrivateTemporaryFolder folder;
  DataHeader header = small_header(folder.path());
  write_scan(header, {record_of_terms()});
  const auto plain = read_all(header);
  CHECK(plain[0].multiplicative.empty());
  CHECK(plain[0].additive.empty());
  CHECK(plain[0].counts.empty());
  header.has_normalisation = true;
  write_scan(header, {record_of_terms()});
  const auto normalised = read_all(header);
  CHECK(normalised[0].multiplicative[0] == 0.25f);
  CHECK(normalised[0].additive.empty());
  Quantity quantity = quantity_of(header, 1);
  CHECK(quantity[Correction::normalisation].state == CorrectionState::called_for);
  CHECK(quantity[Correction::randoms].state == CorrectionState::not_made);
  CHECK(quantity.unit.empty());
  header.has_randoms = header.has_attenuation = true;
  header.calibration = 2;
  quantity = quantity_of(header, 1);
  CHECK(quantity[Correction::attenuation].state == CorrectionState::called_for);
  CHECK(quantity[Correction::randoms].state == CorrectionState::made);
  CHECK(quantity.unit == "Bq/mL");
}

TEST_CASE("CASToR: batches cover the scan by their events' times, or evenly where these do not ascend") {
  const PrivateTemporaryFolder folder;
  DataHeader header = small_header(folder.path());
  header.start_s = 10;
  header.duration_s = 8;
  const auto spans = [&](const std::vector<std::uint32_t>& times) {
    std::vector<Record> records;
    for (const std::uint32_t time : times) records.push_back({.time_ms = time, .lines = {{0, 9}}});
    write_scan(header, records);
    std::vector<double> ends;
    double end = 10;
    for (const EventBatch& batch : read_all(header, {.batch_events = 2})) {
      CHECK(batch.start_s == approx(end));
      end = batch.start_s + batch.duration_s;
      ends.push_back(end);
    }
    CHECK(end == approx(18));
    return ends;
  };
  CHECK(spans({10500, 11000, 12000, 12000, 17000, 17500}) == std::vector<double>{12, 17, 18});
  CHECK(spans({11000, 11000, 12000, 12000, 12000, 12000, 16000, 17000}) == std::vector<double>{12, 14, 16, 18});
  const std::vector<double> even = {12, 14, 16, 18};
  CHECK(spans({0, 0, 0, 0, 0, 0, 0, 0}) == even);
  CHECK(spans({17000, 11000, 12000, 12000, 13000, 12000, 16000, 17000}) == even);
  CHECK(spans({10000, 11000, 12000, 12000, 13000, 15000, 16000, 30000}) == even);
}

TEST_CASE("CASToR: an event of several pairs is the line between the means of their ends") {
  const PrivateTemporaryFolder folder;
  DataHeader header = small_header(folder.path());
  header.most_lines = 3;
  write_scan(header, {{.lines = {{0, 8}, {1, 9}}}, {.lines = {{0, 8}}}});
  const auto batches = read_all(header);
  CHECK(!batches[0].detectors);
  CHECK(batches[0].scanner);
  const Lor mean = batches[0].view().lor(0), single = batches[0].view().lor(1);
  CHECK(mean.end1.x == approx(0).epsilon(1e-6));
  CHECK(mean.end1.y == approx(-105));
  CHECK(single.end1.x == approx(-2));
  CHECK(single.end2.y == approx(105));
}

TEST_CASE("CASToR: a histogram's bins come mixed, each once, and events whose factor is 0 are left out") {
  const PrivateTemporaryFolder folder;
  DataHeader header = small_header(folder.path());
  header.mode = DataMode::histogram;
  header.has_normalisation = true;
  std::vector<Record> records;
  for (std::uint32_t i = 0; i < 32; ++i)
    for (std::uint32_t j = 0; j < i; ++j)
      records.push_back(
          {.normalisation = i == 3 ? 0.0f : 1.0f, .bins = {{static_cast<float>((i + j) % 3)}}, .lines = {{i, j}}});
  write_scan(header, records);
  const DataHeader read = read_data_header(header.file);
  EventReader reader(read, to_scanner(read_geometry(find_geometry(read, {})), read, Frame::castor).scanner,
                     {.batch_events = 50});
  std::vector<int> seen(32 * 32);
  std::uint64_t counts = 0, firsts = 0, first_count = 0;
  while (const auto batch = reader.next()) {
    for (std::int64_t i = 0; i < batch->count; ++i) {
      ++seen[batch->detector1[i] * 32 + batch->detector2[i]];
      if (counts == 0) firsts += batch->detector1[i];
    }
    if (counts == 0) first_count = static_cast<std::uint64_t>(batch->count);
    counts += batch->event_count();
  }
  std::uint64_t expected = 0, impossible = 0, empty = 0;
  for (const Record& record : records) {
    const auto count = static_cast<std::uint64_t>(record.bins[0].counts);
    const auto [i, j] = record.lines[0];
    const bool is_left_out = i == 3 || count == 0;
    CHECK(seen[i * 32 + j] == (is_left_out ? 0 : 1));
    (i == 3 ? impossible : expected) += count;
    empty += count == 0 ? 1 : 0;
  }
  CHECK(counts == expected);
  CHECK(reader.received() == expected + impossible);
  CHECK(reader.impossible() == impossible);
  CHECK(reader.empty_bins() == empty);
  // The first batch is of all sectors: in the file's order their mean would be 6.
  CHECK(static_cast<double>(firsts) / static_cast<double>(first_count) == approx(20.5).epsilon(0.1));
}

TEST_CASE("CASToR: an event that cannot be is refused in one line with its place") {
  const PrivateTemporaryFolder folder;
  DataHeader header = with_all_terms(folder.path());
  header.has_tof = true;
  header.tof_fwhm_ps = header.tof_range_ps = 400;
  const Record good = record_of_terms();
  CHECK(error_of(header, good).empty());
  const auto refused = [&](const auto& change, const char* what) {
    Record bad = good;
    change(bad);
    const std::string error = error_of(header, bad);
    CAPTURE(error);
    CHECK(error.find("scan.cdf: event 3 (byte 96): ") != std::string::npos);
    CHECK(error.find(what) != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
  };
  refused([](Record& r) { r.lines = {{0, 32}}; }, "crystals 0 and 32, and the scanner small has 32 (from 0)");
  refused([](Record& r) { r.lines = {{0x01000000, 0x02000000}}; }, "seems to be big-endian");
  refused([](Record& r) { r.lines = {{5, 5}}; }, "crystal 5 is in coincidence with itself");
  refused([](Record& r) { r.attenuation = NAN; }, "correction factors of nan for attenuation");
  refused([](Record& r) { r.normalisation = -1; }, "-1 for normalisation");
  refused([](Record& r) { r.randoms = -2; }, "a rate of randoms of -2");
  refused([](Record& r) { r.scatter = INFINITY; }, "a rate of scatter of inf");
  refused([](Record& r) { r.tof_ps = NAN; }, "a ToF that is no number");
  header = small_header(folder.path());
  header.mode = DataMode::histogram;
  Record bin{.bins = {{1}}, .lines = {{0, 9}}};
  for (const float counts : {-1.0f, 0.5f, NAN, 3e7f}) {
    bin.bins[0].counts = counts;
    CHECK(error_of(header, bin).find("ToF bin 0 has") != std::string::npos);
  }
}
// SPDX-License-Identifier: Apache-2.0
