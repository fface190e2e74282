// CASToR's headers and events: what is written is read, bit for bit, with every set of flags; sizes and orders of fields
// are those of its documentation.
#include <cstring>

#include "core/base/private_folder.hpp"
#include "gadgets/io/castor/data_file.hpp"
#include "gadgets/io/castor/event_model.hpp"
#include "gadgets/io/castor/text_header.hpp"
#include "tests/io/castor_support.hpp"

using namespace tofstream;
using namespace tofstream::castor;
using namespace tofstream::castor::testing;

namespace {

/// Numbers that are unlike each other in every field.
Record numbered(const DataHeader& header, std::uint32_t i) {
  const auto f = static_cast<float>(i);
  Record record{.time_ms = 7 * i,
                .attenuation = 1.5f + f,
                .scatter = 0.25f * f,
                .randoms = 3.125f + f,
                .normalisation = 0.1f + f,
                .tof_ps = 17.7f - 3 * f,
                .kind = static_cast<std::uint8_t>(i)};
  if (header.mode == DataMode::histogram)
    for (std::uint32_t b = 0; b < header.tof_bins; ++b) record.bins.push_back({static_cast<float>(i + b), 0.5f * f});
  for (std::uint32_t l = 0; l < 1 + i % header.most_lines; ++l) record.lines.emplace_back(i + l, 31 - i - l);
  return record;
}

/// Every combination of the flags of a mode.
std::vector<DataHeader> all_flags(DataMode mode, const std::filesystem::path& folder) {
  std::vector<DataHeader> result;
  for (unsigned flags = 0; flags < 128; ++flags) {
    DataHeader header = small_header(folder);
    header.mode = mode;
    header.has_attenuation = flags & 1;
    header.has_normalisation = flags & 2;
    header.has_scatter = flags & 4;
    header.has_randoms = flags & 8;
    header.has_tof = flags & 16;
    header.most_lines = flags & 32 ? 3 : 1;
    header.has_kind = (flags & 64) && mode == DataMode::list;
    if (header.has_tof) {
      header.tof_fwhm_ps = 380.5;
      (mode == DataMode::list ? header.tof_range_ps : header.tof_bin_ps) = 312.6;
      if (mode == DataMode::histogram) header.tof_bins = 5;
      if (mode == DataMode::list && header.has_scatter) header.tof_quantum_ps = 13.02;
    }
    result.push_back(std::move(header));
  }
  return result;
}

void check_same(const RecordView& read, const Record& written, const DataHeader& header) {
  const bool is_list = header.mode == DataMode::list;
  CHECK(read.time_ms() == written.time_ms);
  CHECK(read.attenuation() == (header.has_attenuation ? written.attenuation : 1));
  CHECK(read.normalisation() == (header.has_normalisation ? written.normalisation : 1));
  CHECK(read.randoms() == (header.has_randoms ? written.randoms : 0));
  CHECK(read.scatter() == (header.has_scatter && is_list ? written.scatter : 0));
  CHECK(read.tof_ps() == (header.has_tof && is_list ? written.tof_ps : 0));
  for (std::size_t b = 0; b < written.bins.size(); ++b) {
    CHECK(read.counts(b) == written.bins[b].counts);
    CHECK(read.scatter(b) == (header.has_scatter ? written.bins[b].scatter : 0));
  }
  REQUIRE(read.lines() == written.lines.size());
  for (std::size_t l = 0; l < written.lines.size(); ++l) {
    CHECK(read.crystal1(l) == written.lines[l].first);
    CHECK(read.crystal2(l) == written.lines[l].second);
  }
}

}  // namespace

TEST_CASE("CASToR: events and headers of every set of flags come back bit for bit") {
  const PrivateTemporaryFolder folder;
  for (const DataMode mode : {DataMode::list, DataMode::histogram})
    for (const DataHeader& header : all_flags(mode, folder.path())) {
      std::vector<Record> records;
      for (std::uint32_t i = 0; i < 6; ++i) records.push_back(numbered(header, i));
      write_scan(header, records);
      const DataHeader again = read_data_header(header.file);
      CHECK(data_header_text(again) == data_header_text([&] {
              DataHeader counted = header;
              counted.events = records.size();
              return counted;
            }()));
      CHECK(again.unread.empty());
      DataFile file(again);
      std::vector<std::byte> bytes;
      file.read(1, 5, bytes);
      for (std::uint32_t i = 1; i < 6; ++i) check_same(file.event(bytes, i - 1), records[i], header);
    }
}

TEST_CASE("CASToR: an event's fields lie where its documentation says") {
  DataHeader list = small_header("");
  CHECK(RecordLayout(list).bytes == 12);
  list.has_attenuation = list.has_normalisation = list.has_scatter = list.has_randoms = list.has_tof = true;
  const RecordLayout all(list);  // t a s r n TOF c1 c2
  CHECK(all.attenuation == 4);
  CHECK(all.scatter == 8);
  CHECK(all.randoms == 12);
  CHECK(all.normalisation == 16);
  CHECK(all.tof == 20);
  CHECK(all.lines == 24);
  CHECK(all.bytes == 32);
  DataHeader histogram = list;
  histogram.mode = DataMode::histogram;
  histogram.tof_bins = 3;
  histogram.most_lines = 2;
  const RecordLayout bins(histogram);  // t a r n (p s)(p s)(p s) k c1 c2 c1 c2
  CHECK(bins.attenuation == 4);
  CHECK(bins.randoms == 8);
  CHECK(bins.normalisation == 12);
  CHECK(bins.bins == 16);
  CHECK(bins.bytes_a_bin == 8);
  CHECK(bins.line_count == 40);
  CHECK(bins.lines == 42);
  CHECK(bins.bytes == 58);
  CHECK(layout_in_words(histogram) ==
        "time 4 + attenuation 4 + randoms 4 + normalisation 4 + counts and scatter 24 + lines 2 + crystals 16 bytes");
}

TEST_CASE("CASToR: a normalisation is lines with their factors, and knows no time, counts or rates") {
  DataHeader norm = small_header("");
  norm.mode = DataMode::normalisation;
  CHECK(RecordLayout(norm).bytes == 8);
  norm.has_attenuation = norm.has_normalisation = true;
  norm.most_lines = 2;
  const RecordLayout layout(norm);  // a n k c1 c2 c1 c2
  CHECK(layout.attenuation == 0);
  CHECK(layout.normalisation == 4);
  CHECK(layout.line_count == 8);
  CHECK(layout.lines == 10);
  CHECK(layout.bytes == 26);
  CHECK(layout_in_words(norm) == "attenuation 4 + normalisation 4 + lines 2 + crystals 16 bytes");
  norm.events = 3;
  const DataHeader again = parse_data_header(data_header_text(norm), "/f/a.cdh");
  CHECK(again.mode == DataMode::normalisation);
  CHECK(again.has_normalisation);
  CHECK(data_header_text(again) == data_header_text(norm));
  const DataHeader more = parse_data_header(
      data_header_text(norm) + "Random correction flag: 1\nTOF information flag: 1\nDuration (s): 3\n", "/f/a.cdh");
  CHECK(RecordLayout(more).bytes == 26);
  CHECK(more.unread.empty());
}

TEST_CASE("CASToR: spellings that its own files have are read") {
  const std::string start =
      "Scanner name: s\nNumber of events: 3\nStart time (s):0\nDuration (s): 10 # of it\n"
      "Data filename:\tx.cdf\r\n\n# a comment\n";
  for (const char* mode : {"listmode", "list-mode", "LIST", "0"})
    CHECK(parse_data_header(start + "Data type: PET\nData mode: " + mode + "\n", "/f/a.cdh").mode == DataMode::list);
  const DataHeader header = parse_data_header(
      start + "Data type: pet\nData mode: histo\nIsotope: F-18\nHorizontal bed relative position (mm): 12\n",
      "/f/a.cdh");
  CHECK(header.mode == DataMode::histogram);
  CHECK(header.data == "/f/x.cdf");
  CHECK(header.isotope == "F-18");
  CHECK(header.unread == std::vector<std::string>{"Horizontal bed relative position (mm): 12"});
  const TextHeader numbers = TextHeader::parse("a: 72.5.\nb: 20.\nc: 1,2, 3\nd: 1e400\n", "n");
  CHECK(numbers.number(*numbers.find({"a"})) == 72.5);
  CHECK(numbers.number(*numbers.find({"b"})) == 20);
  CHECK(numbers.numbers(*numbers.find({"c"}), 3) == std::vector<double>{1, 2, 3});
  CHECK_THROWS_WITH(numbers.number(*numbers.find({"d"})), "n:4: d is '1e400', which is no number");
}

TEST_CASE("CASToR: a header that cannot be is refused in one line that says where") {
  const auto refused = [](const std::string& line, const std::string& what) {
    std::string text =
        "Scanner name: s\nNumber of events: 3\nStart time (s): 0\nDuration (s): 10\nData filename: x\n"
        "Data type: PET\nData mode: list\n";
    const auto key = line.substr(0, line.find(':') + 1);
    if (const auto at = text.find(key); !key.empty() && at != std::string::npos)
      text.erase(at, text.find('\n', at) - at + 1);
    text += line + "\n";
    CAPTURE(line);
    CHECK_THROWS_WITH(parse_data_header(text, "a.cdh"), doctest::Contains(what.c_str()));
  };
  refused("Data mode: dynamic", "a.cdh:7: Data mode is 'dynamic': it is list-mode, histogram or normalization");
  refused("Data mode: sinogram", "a.cdh:7: Data mode is 'sinogram'");
  refused("Data type: SPECT", "only PET is read");
  refused("Number of events: 0", "whole number from 1");
  refused("Number of events: -4", "whole number from 1");
  refused("Duration (s): 0", "a.cdh:7: Duration (s) is 0: it is positive");
  refused("Duration (s): long", "no number");
  refused("Start time (s): nan", "no number");
  refused("Calibration factor: -1", "positive");
  refused("Attenuation correction flag: yes", "whole number from 0 to 1");
  refused("TOF information flag: 1", "has no line 'TOF resolution (ps): ...'");
  refused("Maximum number of lines per event: 100000", "from 1 to 65535");
  refused("POI correction flag: 1,1,1", "'POI correction flag' is set, and events with what it means are not read");
  refused("Per event TOF resolution flag: 1", "are not read");
  refused("what is this", "a.cdh:8: 'what is this' is no `keyword: value`");
  refused("Data filename:", "is empty");
  CHECK_THROWS_WITH(parse_data_header("", "a.cdh"), "a.cdh: has no line 'Data type: ...', which CASToR requires");
  CHECK_NOTHROW(
      parse_data_header("Scanner name: s\nNumber of events: 3\nStart time (s): 0\nDuration (s): 10\nData "
                        "filename: x\nData type: PET\nData mode: list\nPer event TOF resolution flag: 0\nPOI "
                        "correction flag: 0,0,0\n",
                        "a.cdh"));
}

TEST_CASE("CASToR: a data file of another size than its header says is refused, with what it may be") {
  const PrivateTemporaryFolder folder;
  DataHeader header = small_header(folder.path());
  header.has_randoms = true;
  header.events = 10;
  const auto refused = [&](std::size_t bytes, const char* what) {
    write_file(header.data, std::string(bytes, '\0'));
    CHECK_THROWS_WITH(DataFile{header}, doctest::Contains(what));
  };
  refused(159, "it is cut short");
  refused(159, "159 bytes, and");
  refused(159, "says 10 events of 16 bytes (time 4 + randoms 4 + crystals 8 bytes)");
  refused(165, "it is longer");
  refused(120, "it has 12 bytes for each event: correct the header's flags");
  refused(200, "would fit as double precision");
  refused(0, "it has 0 bytes for each event");
  std::filesystem::remove(header.data);
  CHECK_THROWS_WITH(DataFile{header}, doctest::Contains("the line 'Data filename' of"));
  std::filesystem::create_directory(header.data);
  CHECK_THROWS_WITH(DataFile{header}, doctest::Contains("this is no file"));
}
// SPDX-License-Identifier: Apache-2.0
