// Headers of projection data of PET: see projection_header.hpp.
#include "gadgets/io/interfile/projection_header.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/printable.hpp"
#include "gadgets/io/interfile/keys.hpp"
#include "kernels/math/units.hpp"

namespace tofstream::interfile {
namespace {

using formats::InterfileEntry;
using formats::InterfileHeader;

constexpr double mm_per_cm = 10;
constexpr std::int64_t most_bins = std::int64_t{1} << 40;  // of a ToF position
constexpr int most_rings = 1024;

void require_projections(const Keys& keys) {
  const auto require_word = [&](const char* key, std::initializer_list<const char*> words, const char* remedy) {
    const InterfileEntry* entry = keys.find({key});
    if (!entry) return;
    const std::string found = folded_word(entry->value);
    if (std::ranges::none_of(words, [&](const char* word) { return found == word; }))
      keys.header().refuse(entry,
                           fmt::format("'{}' is {}: {}", printable(entry->key), printable(entry->value), remedy));
  };
  require_word("imaging modality", {"pt", "pet"}, "this is no header of PET: projections_source reads SPECT");
  require_word("type of data", {"pet"}, "projection data of PET are PET");
  const InterfileEntry& type = keys.need({"PET data type"}, "is it a header of projection data of PET?");
  if (folded_word(type.value) == "image") keys.header().refuse(&type, "this is an image, and no projection data");
  require_word("PET data type", {"emission", "attenuationcorrection", "normalisation"},
               "projection data of emission are read");
  require_word("data compression", {"none"}, "store the data uncompressed");
  for (const char* key : {"number of time frames", "number of energy windows", "number of image data types"})
    if (const InterfileEntry* entry = keys.find({key}); entry && keys.number(*entry, 0, 1e6) > 1)
      keys.header().refuse(entry, fmt::format("{} '{}': write each into a file of its own", printable(entry->value),
                                              printable(entry->key)));
  const InterfileEntry& corrections = keys.need(
      {"applied corrections"}, "without it STIR takes bins as arc corrected: write 'applied corrections := {None}'");
  if (folded_word(corrections.value).find("arccorrect") != std::string::npos)
    keys.header().refuse(&corrections,
                         "arc-corrected bins belong to no pair of detectors: take the data before arc correction");
}

ScannerFigures scanner_figures(const Keys& keys, const std::filesystem::path& file) {
  constexpr const char* why = "STIR may know it by the scanner's name, tofstream does not: write STIR's scanner keys";
  const auto cm = [&](const InterfileEntry& entry, double lo_mm, double hi_mm) {
    return mm_per_cm * keys.number(entry, lo_mm / mm_per_cm, hi_mm / mm_per_cm);
  };
  ScannerFigures figures;
  if (const InterfileEntry* name = keys.find({"originating system"})) figures.name = name->value;
  figures.rings = keys.whole(keys.need({"number of rings"}, why), 1, most_rings);
  const InterfileEntry& detectors = keys.need({"number of detectors per ring"}, why);
  figures.detectors = keys.whole(detectors, 4, 1 << 15);
  constexpr std::int64_t most_crystals = 4'000'000;
  if (std::int64_t{figures.rings} * figures.detectors > most_crystals)
    keys.header().refuse(&detectors, fmt::format("{} rings of {} detectors: at most {} crystals are read",
                                                 figures.rings, figures.detectors, most_crystals));
  if (figures.detectors % 2 != 0) keys.header().refuse(&detectors, "a ring must have an even number of detectors");
  if (const InterfileEntry* layers = keys.find({"number of detector layers"});
      layers && keys.whole(*layers, 1, 100) > 1)
    keys.header().refuse(layers, "layers of depth are not told apart by STIR's bins of one layer: one is read");
  figures.inner_diameter_mm = cm(keys.need({"inner ring diameter (cm)"}, why), 1, 1e5);
  figures.depth_mm = cm(keys.need({"average depth of interaction (cm)"}, why), 0, 1e4);
  figures.ring_distance_mm = cm(keys.need({"distance between rings (cm)"}, why), 1e-3, 1e4);
  if (const InterfileEntry* bin = keys.find({"default bin size (cm)"}))
    figures.bin_mm = std::max(0.0, cm(*bin, -1e5, 1e5));
  if (const InterfileEntry* offset = keys.find({"view offset (degrees)"}))
    figures.offset_deg = keys.number(*offset, -360, 360);
  if (const InterfileEntry* resolution = keys.find({"energy resolution"}))
    figures.energy_resolution = std::max(0.0, keys.number(*resolution, -1, 10));
  if (const InterfileEntry* energy = keys.find({"reference energy (in keV)"}))
    if (const double keV = keys.number(*energy, -1, 1e5); keV > 0) figures.reference_keV = keV;
  if (const InterfileEntry* geometry = keys.find({"scanner geometry (BlocksOnCylindrical/Cylindrical/Generic)"})) {
    const std::string word = folded_word(geometry->value);
    if (word == "generic")
      figures.crystals = file.parent_path() / keys.need({"name of crystal map"}, "a generic scanner needs it").value;
    else if (word != "cylindrical")
      keys.header().refuse(geometry, fmt::format("a scanner that is {} is not read: Cylindrical and Generic are",
                                                 printable(geometry->value)));
  }
  return figures;
}

void read_axes(const Keys& keys, ProjectionHeader& header) {
  constexpr const char* why =
      "PET data have the axes tangential coordinate, axial coordinate, view, segment, and "
      "timing positions where there is ToF";
  const InterfileEntry& dimensions = keys.need({"number of dimensions"}, why);
  const int axes = keys.whole(dimensions, 4, 5);
  const auto label = [&](int axis) -> const InterfileEntry& { return keys.need({"matrix axis label"}, why, axis); };
  const auto require_label = [&](int axis, const char* wanted) {
    if (folded_word(label(axis).value) != folded_word(wanted))
      keys.header().refuse(&label(axis),
                           fmt::format("axis {} must be '{}', not {}", axis, wanted, printable(label(axis).value)));
  };
  const auto size = [&](int axis, int hi) { return keys.whole(keys.need({"matrix size"}, why, axis), 1, hi); };
  require_label(1, "tangential coordinate");
  header.order = folded_word(label(2).value) == "view" ? AxisOrder::planes : AxisOrder::views;
  const int plane_axis = header.order == AxisOrder::views ? 2 : 3;
  require_label(plane_axis, "axial coordinate");
  require_label(5 - plane_axis, "view");
  require_label(4, "segment");
  header.tangential = size(1, 1 << 16);
  header.views = size(5 - plane_axis, 1 << 16);
  const int segments = size(4, 1 << 14);
  const InterfileEntry& positions = keys.need({"matrix size"}, why, plane_axis);
  const InterfileEntry& least = keys.need({"minimum ring difference per segment"}, "which rings do the segments join?");
  const InterfileEntry& most = keys.need({"maximum ring difference per segment"}, "which rings do the segments join?");
  const auto listed = [&](const InterfileEntry& entry, int lo, int hi) {
    auto values = keys.wholes(entry, lo, hi);
    if (values.size() != static_cast<std::size_t>(segments))
      keys.header().refuse(&entry, fmt::format("'{}' has {} numbers, and there are {} segments", printable(entry.key),
                                               values.size(), segments));
    return values;
  };
  const auto planes = listed(positions, 1, 1 << 16), lows = listed(least, -4096, 4096),
             highs = listed(most, -4096, 4096);
  for (std::size_t s = 0; s < planes.size(); ++s)
    header.segments.push_back({std::min(lows[s], highs[s]), std::max(lows[s], highs[s]), planes[s]});
  if (axes == 5) {
    require_label(5, "timing positions");
    header.tof_positions = size(5, 1 << 14);
  }
}

void read_tof(const Keys& keys, ProjectionHeader& header) {
  const InterfileEntry* mashing = keys.find({"TOF mashing factor", "%TOF mashing factor"});
  const InterfileEntry* bins = keys.find({"Maximum number of (unmashed) TOF time bins", "Number of TOF time bins"});
  const InterfileEntry* width = keys.find({"Size of unmashed TOF time bins (ps)", "Size of timing bin (ps)"});
  const InterfileEntry* resolution = keys.find({"TOF timing resolution (ps)", "timing resolution (ps)"});
  const InterfileEntry* order = keys.find({"TOF bin order"});
  ScannerFigures& scanner = header.scanner;
  if (bins && width && resolution && keys.number(*bins, -1, 1 << 20) > 0) {
    scanner.tof_bins = keys.whole(*bins, 1, 1 << 20);
    scanner.tof_bin_ps = keys.number(*width, 1e-6, 1e9);
    scanner.tof_fwhm_ps = keys.number(*resolution, 1e-3, 1e9);
  }
  header.tof_order.resize(static_cast<std::size_t>(header.tof_positions));
  std::iota(header.tof_order.begin(), header.tof_order.end(), -(header.tof_positions / 2));
  if (!keys.find({"matrix axis label"}, 5)) return;
  if (scanner.tof_bins == 0)
    keys.header().refuse(nullptr,
                         "data with timing positions need the scanner's 'Maximum number of (unmashed) TOF time "
                         "bins', 'Size of unmashed TOF time bins (ps)' and 'TOF timing resolution (ps)'");
  header.tof_mashing = mashing ? keys.whole(*mashing, 1, 1 << 20) : 1;
  if (scanner.tof_bins / header.tof_mashing != header.tof_positions || scanner.tof_bins % header.tof_mashing != 0)
    keys.header().refuse(mashing, fmt::format("{} ToF bins of the scanner, {} joined in each, do not make {} timing "
                                              "positions",
                                              scanner.tof_bins, header.tof_mashing, header.tof_positions));
  if (!order) return;
  const std::vector<int> listed = keys.wholes(*order, -(1 << 14), 1 << 14);
  std::vector<int> sorted = listed;
  std::ranges::sort(sorted);
  if (sorted != header.tof_order)
    keys.header().refuse(order, fmt::format("'TOF bin order' must list each of {} to {} once", header.tof_order.front(),
                                            header.tof_order.back()));
  header.tof_order = listed;
}

void require_bins(const Keys& keys, const ProjectionHeader& header) {
  const ScannerFigures& scanner = header.scanner;
  if (header.tangential >= scanner.detectors)
    keys.header().refuse(keys.find({"matrix size"}, 1),
                         fmt::format("{} tangential positions in a ring of {} detectors: there are at most {}",
                                     header.tangential, scanner.detectors, scanner.detectors - 1));
  if (header.views > scanner.detectors / 2 || (scanner.detectors / 2) % header.views != 0)
    keys.header().refuse(nullptr, fmt::format("{} views of a ring of {} detectors: {} or a divisor of it can be",
                                              header.views, scanner.detectors, scanner.detectors / 2));
  for (std::size_t s = 0; s < header.segments.size(); ++s)
    for (std::size_t other = 0; other < s; ++other)
      if (header.segments[s].least_difference <= header.segments[other].most_difference &&
          header.segments[other].least_difference <= header.segments[s].most_difference)
        keys.header().refuse(
            nullptr, fmt::format("segments {} and {} of the list have the same ring differences", other + 1, s + 1));
  for (std::size_t s = 0; s < header.segments.size(); ++s) {
    const Segment& segment = header.segments[s];
    const int furthest = std::max(std::abs(segment.least_difference), std::abs(segment.most_difference));
    if (furthest >= scanner.rings)
      keys.header().refuse(nullptr, fmt::format("segment {} of the list has a ring difference of {}, and the scanner "
                                                "has {} rings",
                                                s + 1, furthest, scanner.rings));
    const bool is_possible = segment.is_compressed()
                                 ? segment.positions % 2 == 1 && segment.positions <= 2 * scanner.rings - 1
                                 : (scanner.rings - segment.positions + segment.least_difference) % 2 == 0 &&
                                       segment.positions <= scanner.rings - std::abs(segment.least_difference);
    if (!is_possible)
      keys.header().refuse(nullptr, fmt::format("segment {} of the list (ring differences {} to {}) has {} axial "
                                                "positions, which are at no pairs of {} rings",
                                                s + 1, segment.least_difference, segment.most_difference,
                                                segment.positions, scanner.rings));
  }
  double all = header.tangential;
  for (const double n : {static_cast<double>(header.views), static_cast<double>(header.segments.size()),
                         2.0 * scanner.rings, static_cast<double>(header.tof_positions)})
    all *= n;
  if (all > static_cast<double>(most_bins)) keys.header().refuse(nullptr, "it describes more than 2^40 bins");
}

void read_scan(const Keys& keys, ProjectionHeader& header) {
  const InterfileEntry& data = keys.need({"name of data file"}, "where are the numbers?");
  header.data = header.file.parent_path() / data.value;
  if (const InterfileEntry* offset = keys.find({"data offset in bytes"}))
    header.offset = keys.header().whole(*offset, 0, most_bins);
  if (const InterfileEntry* scale = keys.find({"image scaling factor"}))
    header.scale = keys.number(*scale, 1e-30, 1e30);
  const InterfileEntry* duration = keys.find({"image duration (sec)"});
  if (duration) header.duration_s = keys.number(*duration, 0, 1e9);
  if (const InterfileEntry* start = keys.find({"image relative start time (sec)"}))
    header.start_s = keys.number(*start, 0, 1e9);
  const InterfileEntry* low = keys.find({"energy window lower level"});
  const InterfileEntry* high = keys.find({"energy window upper level"});
  if (low && high && keys.number(*high, -1, 1e6) > 0) {
    header.low_keV = keys.number(*low, 0, 1e6);
    header.high_keV = keys.number(*high, 0, 1e6);
  }
  if (const InterfileEntry* isotope = keys.find({"radionuclide name", "isotope name"})) header.isotope = isotope->value;
}

// Keys whose values change what bins mean, and are not used.
void note_unused(const Keys& keys, ProjectionHeader& header) {
  const auto note = [&](const char* key, const char* why) {
    if (const InterfileEntry* entry = keys.find({key});
        entry && folded_word(entry->value) != "0" && folded_word(entry->value) != "unknown")
      header.notes.push_back(fmt::format("{} := {}: {}", printable(entry->key), printable(entry->value), why));
  };
  note("start horizontal bed position (mm)", "images are in the scanner's frame, not the bed's");
  note("start vertical bed position (mm)", "images are in the scanner's frame, not the bed's");
  note("calibration factor", "images are relative");
  const auto is_word = [&](const char* key, const char* usual) {
    const InterfileEntry* entry = keys.find({key});
    const std::string word = entry ? folded_word(entry->value) : "unknown";
    return word == usual || word == "unknown";
  };
  if (!is_word("patient orientation", "headin") || !is_word("patient rotation", "supine"))
    header.notes.emplace_back(
        "the patient lay otherwise than head first and supine: images are in the scanner's frame");
}

}  // namespace

double ProjectionHeader::tof_width_mm() const {
  return scanner.tof_bin_ps * tof_mashing * speed_of_light_mm_ps / 2;
}

double ProjectionHeader::tof_mm(int place) const {
  const double number = tof_order[static_cast<std::size_t>(place)];
  return -(number + (tof_positions % 2 == 0 ? 0.5 : 0.0)) * tof_width_mm();
}

std::int64_t ProjectionHeader::bins() const {
  std::int64_t planes = 0;
  for (const Segment& segment : segments) planes += segment.positions;
  return planes * views * tangential;
}

ProjectionHeader parse_projection_header(std::string_view text, const std::filesystem::path& file) {
  const InterfileHeader parsed = formats::parse_interfile(text, file.string());
  const Keys keys(parsed);
  ProjectionHeader header;
  header.file = file;
  require_projections(keys);
  header.numbers = number_format(keys);
  header.scanner = scanner_figures(keys, file);
  read_axes(keys, header);
  read_tof(keys, header);
  read_scan(keys, header);
  require_bins(keys, header);
  note_unused(keys, header);
  return header;
}

ProjectionHeader read_projection_header(const std::filesystem::path& file) {
  return parse_projection_header(formats::interfile_text(file), file);
}

bool is_projection_header(const std::filesystem::path& file) {
  const auto type = data_type_of(file);
  return type && *type != "image";
}

std::string other_bins(const ProjectionHeader& a, const ProjectionHeader& b, bool tof) {
  const auto figures = [](const ScannerFigures& s) {
    return fmt::format("{} rings of {} detectors, {:g} mm from the axis, {:g} mm apart, turned by {:g} degrees",
                       s.rings, s.detectors, s.radius_mm(), s.ring_distance_mm, s.offset_deg);
  };
  if (figures(a.scanner) != figures(b.scanner))
    return fmt::format("it is of another scanner: {}, and not {}", figures(b.scanner), figures(a.scanner));
  const auto sizes = [](const ProjectionHeader& h) {
    return fmt::format("{} segments, {} views and {} tangential positions", h.segments.size(), h.views, h.tangential);
  };
  if (sizes(a) != sizes(b)) return fmt::format("it has {}, and not {}", sizes(b), sizes(a));
  if (a.segments != b.segments) return "its segments join other rings, or come in another order";
  if (a.order != b.order) return "its views and planes come in another order";
  if (!tof) return {};
  if (a.tof_positions != b.tof_positions || a.tof_mashing != b.tof_mashing || a.tof_order != b.tof_order)
    return fmt::format("it has {} ToF positions, and not {}, or in another order", b.tof_positions, a.tof_positions);
  return {};
}

std::string projection_header_text(const ProjectionHeader& header) {
  using Kind = formats::RawPixels::Kind;
  const ScannerFigures& scanner = header.scanner;
  std::vector<int> planes, least, most;
  for (const Segment& segment : header.segments) {
    planes.push_back(segment.positions);
    least.push_back(segment.least_difference);
    most.push_back(segment.most_difference);
  }
  const auto list = [](const std::vector<int>& values) { return fmt::format("{{{}}}", fmt::join(values, ",")); };
  const bool is_float = header.numbers.kind == Kind::real;
  std::string text = "!INTERFILE  :=\n!imaging modality := PT\n";
  text += fmt::format("name of data file := {}\n", header.data.filename().string());
  text += fmt::format("originating system := {}\n!version of keys := STIR6.0\n",
                      scanner.name.empty() ? "unknown" : printable(scanner.name));
  text += "!GENERAL DATA :=\npatient orientation := head_in\npatient rotation := supine\n!GENERAL IMAGE DATA :=\n";
  text += fmt::format("!type of data := PET\nimagedata byte order := {}\n",
                      header.numbers.is_big_endian ? "BIGENDIAN" : "LITTLEENDIAN");
  if (!header.isotope.empty()) text += fmt::format("radionuclide name[1] := {}\n", printable(header.isotope));
  text += "!PET STUDY (General) :=\n!PET data type := Emission\napplied corrections := {None}\n";
  text += fmt::format("!number format := {}\n!number of bytes per pixel := {}\n",
                      is_float                                      ? "float"
                      : header.numbers.kind == Kind::signed_integer ? "signed integer"
                                                                    : "unsigned integer",
                      header.numbers.bytes);
  text += fmt::format("number of dimensions := {}\n", header.has_tof() ? 5 : 4);
  if (header.has_tof())
    text += fmt::format("matrix axis label [5] := timing positions\n!matrix size [5] := {}\n", header.tof_positions);
  const bool by_view = header.order == AxisOrder::views;
  text += fmt::format("matrix axis label [4] := segment\n!matrix size [4] := {}\n", header.segments.size());
  text += fmt::format("matrix axis label [{}] := view\n!matrix size [{}] := {}\n", by_view ? 3 : 2, by_view ? 3 : 2,
                      header.views);
  text += fmt::format("matrix axis label [{0}] := axial coordinate\n!matrix size [{0}] := {1}\n", by_view ? 2 : 3,
                      list(planes));
  text += fmt::format("matrix axis label [1] := tangential coordinate\n!matrix size [1] := {}\n", header.tangential);
  if (header.has_tof()) {
    text += fmt::format("TOF mashing factor := {}\n", header.tof_mashing);
    if (!std::ranges::is_sorted(header.tof_order)) text += fmt::format("TOF bin order := {}\n", list(header.tof_order));
  }
  text += fmt::format("minimum ring difference per segment := {}\nmaximum ring difference per segment := {}\n",
                      list(least), list(most));
  const auto cm = [](double mm) { return mm / mm_per_cm; };
  text += fmt::format(
      "Scanner parameters:=\nScanner type := {}\nNumber of rings := {}\nNumber of detectors per ring := {}\n"
      "Inner ring diameter (cm) := {}\nAverage depth of interaction (cm) := {}\nDistance between rings (cm) := {}\n"
      "Default bin size (cm) := {}\nView offset (degrees) := {}\n",
      scanner.name.empty() ? "unknown" : printable(scanner.name), scanner.rings, scanner.detectors,
      cm(scanner.inner_diameter_mm), cm(scanner.depth_mm), cm(scanner.ring_distance_mm), cm(scanner.bin_mm),
      scanner.offset_deg);
  text += fmt::format("Maximum number of non-arc-corrected bins := {}\nDefault number of arc-corrected bins := {}\n",
                      header.tangential, header.tangential);
  if (scanner.energy_resolution > 0)
    text += fmt::format("Energy resolution := {}\nReference energy (in keV) := {}\n", scanner.energy_resolution,
                        scanner.reference_keV);
  if (scanner.tof_bins > 0)
    text += fmt::format(
        "Maximum number of (unmashed) TOF time bins := {}\nSize of unmashed TOF time bins (ps) := {}\n"
        "TOF timing resolution (ps) := {}\n",
        scanner.tof_bins, scanner.tof_bin_ps, scanner.tof_fwhm_ps);
  // One block for the whole ring: the figures serve STIR's normalisation by components, which these data do not have.
  text += fmt::format(
      "Number of blocks per bucket in transaxial direction := 1\nNumber of blocks per bucket in axial direction := 1\n"
      "Number of crystals per block in axial direction := {0}\n"
      "Number of crystals per block in transaxial direction := {1}\nNumber of detector layers := 1\n"
      "Number of crystals per singles unit in axial direction := {0}\n"
      "Number of crystals per singles unit in transaxial direction := {1}\n",
      scanner.rings, scanner.detectors);
  if (!scanner.crystals.empty())
    text += fmt::format(
        "Name of crystal map := {}\nScanner geometry (BlocksOnCylindrical/Cylindrical/Generic) := "
        "Generic\n",
        scanner.crystals.filename().string());
  text += "End scanner parameters:=\nnumber of time frames := 1\n";
  if (header.duration_s > 0)
    text += fmt::format("image duration (sec)[1] := {}\nimage relative start time (sec)[1] := {}\n", header.duration_s,
                        header.start_s);
  if (header.high_keV > 0)
    text += fmt::format(
        "number of energy windows := 1\nenergy window lower level[1] := {}\n"
        "energy window upper level[1] := {}\n",
        header.low_keV, header.high_keV);
  if (header.scale != 1) text += fmt::format("image scaling factor[1] := {}\n", header.scale);
  if (header.offset != 0) text += fmt::format("data offset in bytes[1] := {}\n", header.offset);
  return text + "!END OF INTERFILE :=\n";
}

}  // namespace tofstream::interfile
// SPDX-License-Identifier: Apache-2.0
