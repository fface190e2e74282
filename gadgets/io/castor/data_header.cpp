// Headers of CASToR data files: see data_header.hpp.
#include "gadgets/io/castor/data_header.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "gadgets/io/castor/text_header.hpp"

namespace tofstream::castor {
namespace {

constexpr std::uint64_t most_tof_bins = 65535;

// The spellings that CASToR itself takes.
constexpr std::string_view list_words[] = {"list-mode", "listmode", "list", "LIST-MODE", "LISTMODE", "LIST", "0"};
constexpr std::string_view histogram_words[] = {"histogram", "Histogram", "HISTOGRAM", "histo", "Histo", "HISTO", "1"};
constexpr std::string_view normalisation_words[] = {
    "normalization", "Normalization", "NORMALIZATION", "norm", "Norm", "NORM", "2"};
constexpr std::string_view pet_words[] = {"PET", "pet", "0"};

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

DataMode mode_of(const TextHeader& text) {
  const TextEntry& entry = text.require({"Data mode"});
  if (is_one_of(list_words, entry.value)) return DataMode::list;
  if (is_one_of(histogram_words, entry.value)) return DataMode::histogram;
  if (is_one_of(normalisation_words, entry.value)) return DataMode::normalisation;
  text.refuse(&entry,
              fmt::format("Data mode is '{}': it is list-mode, histogram or normalization", printable(entry.value)));
}

void require_pet(const TextHeader& text) {
  const TextEntry& entry = text.require({"Data type"});
  if (!is_one_of(pet_words, entry.value))
    text.refuse(&entry, fmt::format("Data type is '{}', and only PET is read", printable(entry.value)));
}

double positive(const TextHeader& text, std::initializer_list<std::string_view> key) {
  const TextEntry& entry = text.require(key);
  const double value = text.number(entry);
  if (!(value > 0)) text.refuse(&entry, fmt::format("{} is {}: it is positive", entry.key, value));
  return value;
}

std::string_view word_of(DataMode mode) {
  if (mode == DataMode::normalisation) return normalisation_words[0];
  return mode == DataMode::list ? list_words[0] : histogram_words[0];
}

void read_tof(const TextHeader& text, DataHeader& header) {
  const bool has_events = header.mode != DataMode::normalisation;
  header.has_tof = text.flag_or({"TOF information flag"}, false) && has_events;
  if (!header.has_tof) {
    for (const auto* key :
         {"TOF resolution (ps)", "List TOF measurement range (ps)", "List TOF quantization bin size (ps)",
          "Histo TOF number of bins", "Histo TOF bin size (ps)"})
      (void)text.find({key});
    return;
  }
  header.tof_fwhm_ps = positive(text, {"TOF resolution (ps)"});
  if (header.mode == DataMode::histogram) {
    constexpr std::uint64_t least_tof_bins = 2;
    header.tof_bins = static_cast<std::uint32_t>(
        text.whole(text.require({"Histo TOF number of bins"}), least_tof_bins, most_tof_bins));
    header.tof_bin_ps = positive(text, {"Histo TOF bin size (ps)"});
    return;
  }
  header.tof_range_ps = positive(text, {"List TOF measurement range (ps)"});
  const TextEntry* quantum = text.find({"List TOF quantization bin size (ps)"});
  if (quantum) header.tof_quantum_ps = std::max(0.0, text.number(*quantum));  // CASToR's -1 says: none
}

// Fields of events that are not in the documentation of the format, so that nobody knows where an event ends.
void refuse_unknown_fields(const TextHeader& text) {
  for (const TextEntry* entry : text.unread())
    if ((entry->key.ends_with(" flag") || entry->key.ends_with(" flags")) &&
        entry->value.find_first_not_of("0, .") != std::string::npos)
      text.refuse(entry, fmt::format("'{}' is set, and events with what it means are not read: write them without it",
                                     printable(entry->key)));
}

DataHeader header_of(const TextHeader& text, const std::filesystem::path& file) {
  constexpr auto most_events = std::numeric_limits<std::int64_t>::max();
  constexpr std::uint64_t most_lines = 65535;  // their number is 16 bits wide
  DataHeader header{.file = file};
  require_pet(text);
  header.mode = mode_of(text);
  header.scanner = text.require({"Scanner name"}).value;
  const TextEntry& data = text.require({"Data filename"});
  if (data.value.empty()) text.refuse(&data, "Data filename is empty: it names the file of the events");
  header.data = file.parent_path() / data.value;
  header.events = text.whole(text.require({"Number of events"}), 1, most_events);
  const bool has_events = header.mode != DataMode::normalisation;
  if (has_events) {
    header.start_s = text.number(text.require({"Start time (s)"}));
    header.duration_s = positive(text, {"Duration (s)"});
  } else {
    for (const auto* key : {"Start time (s)", "Duration (s)"}) (void)text.find({key});
  }
  if (const TextEntry* lines = text.find({"Maximum number of lines per event"}))
    header.most_lines = static_cast<std::uint32_t>(text.whole(*lines, 1, most_lines));
  header.most_axial_difference_mm = text.number_or({"Maximum axial difference mm"}, -1);
  if (text.find({"Calibration factor"})) header.calibration = positive(text, {"Calibration factor"});
  if (const TextEntry* isotope = text.find({"Isotope"});
      isotope && isotope->value != "unknown" && isotope->value != "INF")
    header.isotope = isotope->value;
  header.has_attenuation = text.flag_or({"Attenuation correction flag"}, false);
  header.has_normalisation = text.flag_or({"Normalization correction flag"}, false);
  header.has_scatter = text.flag_or({"Scatter correction flag"}, false) && has_events;
  header.has_randoms = text.flag_or({"Random correction flag"}, false) && has_events;
  header.has_kind = text.flag_or({"Coincidence kind flag"}, false) && header.mode == DataMode::list;
  read_tof(text, header);
  refuse_unknown_fields(text);
  for (const TextEntry* entry : text.unread()) header.unread.push_back(entry->key + ": " + entry->value);
  return header;
}

}  // namespace

DataHeader read_data_header(const std::filesystem::path& file) {
  return header_of(TextHeader::read(file), file);
}

DataHeader parse_data_header(std::string_view text, const std::filesystem::path& file) {
  return header_of(TextHeader::parse(text, file.string()), file);
}

std::string data_header_text(const DataHeader& header) {
  const auto flag = [](bool is_set) { return is_set ? 1 : 0; };
  const bool is_list = header.mode == DataMode::list, has_events = header.mode != DataMode::normalisation;
  std::string text =
      fmt::format("Scanner name: {}\nData filename: {}\nNumber of events: {}\nData mode: {}\nData type: PET\n",
                  header.scanner, header.data.filename().string(), header.events, word_of(header.mode));
  if (has_events) text += fmt::format("Start time (s): {}\nDuration (s): {}\n", header.start_s, header.duration_s);
  const auto line = [&]<class T>(std::string_view key, const T& value) { text += fmt::format("{}: {}\n", key, value); };
  if (header.most_lines > 1) line("Maximum number of lines per event", header.most_lines);
  if (header.most_axial_difference_mm >= 0) line("Maximum axial difference mm", header.most_axial_difference_mm);
  line("Calibration factor", header.calibration);
  if (!header.isotope.empty()) line("Isotope", header.isotope);
  line("Attenuation correction flag", flag(header.has_attenuation));
  line("Normalization correction flag", flag(header.has_normalisation));
  if (!has_events) return text;
  line("Scatter correction flag", flag(header.has_scatter));
  line("Random correction flag", flag(header.has_randoms));
  if (header.has_kind) line("Coincidence kind flag", 1);
  line("TOF information flag", flag(header.has_tof));
  if (!header.has_tof) return text;
  line("TOF resolution (ps)", header.tof_fwhm_ps);
  if (is_list) {
    line("List TOF measurement range (ps)", header.tof_range_ps);
    if (header.tof_quantum_ps > 0) line("List TOF quantization bin size (ps)", header.tof_quantum_ps);
  } else {
    line("Histo TOF number of bins", header.tof_bins);
    line("Histo TOF bin size (ps)", header.tof_bin_ps);
  }
  return text;
}

bool is_data_header(std::string_view start) {
  const auto holds = [&](std::string_view words) { return start.find(words) != std::string_view::npos; };
  return holds("Data filename") && holds("Data mode");
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
