// PET series in DICOM: see pet_series.hpp.
#include "gadgets/io/dicom/pet_series.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/atomic_file.hpp"
#include "core/base/printable.hpp"
#include "core/base/private_folder.hpp"
#include "core/base/version.hpp"
#include "gadgets/io/date_time.hpp"
#include "gadgets/io/dicom/data_set.hpp"
#include "gadgets/io/dicom/dicom_words.hpp"
#include "kernels/correct/decay.hpp"
#include "kernels/correct/isotopes.hpp"

namespace tofstream::formats {
namespace {

namespace fs = std::filesystem;

constexpr auto* pet_image_storage = "1.2.840.10008.5.1.4.1.1.128";
constexpr std::size_t most_files = 65535;  // Image Index has 16 bits
constexpr double ms_in_a_second = 1000;

// A concept of SNOMED CT, as PS3.16 lists it.
struct SnomedCode {
  const char *code, *meaning;

  DicomData item() const {
    DicomData data;
    data.text(0x0008, 0x0100, "SH", code);
    data.text(0x0008, 0x0102, "SH", "SCT");
    data.text(0x0008, 0x0104, "LO", meaning);
    return data;
  }
};

// CID 4020.
struct RadionuclideCode {
  std::string_view isotope;
  SnomedCode code;
};
constexpr RadionuclideCode radionuclides[] = {
    {"C-11", {"40565003", "^11^Carbon"}},    {"N-13", {"21576001", "^13^Nitrogen"}},
    {"O-15", {"129504001", "^15^Oxygen"}},   {"F-18", {"77004003", "^18^Fluorine"}},
    {"Cu-64", {"3932008", "^64^Copper"}},    {"Ga-68", {"35337001", "^68^Gallium"}},
    {"Rb-82", {"79197006", "^82^Rubidium"}}, {"Zr-89", {"63360001", "^89^Zirconium"}}};

// CID 19, 20 and 21.
constexpr SnomedCode recumbent{"102538003", "recumbent"}, supine{"40199007", "supine"}, prone{"1240000", "prone"},
    head_first{"102540008", "headfirst"}, feet_first{"102541007", "feet-first"};

std::vector<DicomData> one_item(DicomData data) {
  std::vector<DicomData> items;
  items.push_back(std::move(data));
  return items;
}

// How a patient lay, and the signs of the scanner's axes along the patient's left, back and head.
// The scanner's frame is that of a patient who lies head first and supine (conventions.md).
struct PatientAxes {
  SnomedCode first, lying;
  int x, y, z;
};
PatientAxes axes_of(PatientPosition position) {
  switch (position) {
    case PatientPosition::HFP: return {head_first, prone, -1, -1, 1};
    case PatientPosition::FFS: return {feet_first, supine, -1, 1, -1};
    case PatientPosition::FFP: return {feet_first, prone, 1, -1, -1};
    case PatientPosition::HFS: break;
  }
  return {head_first, supine, 1, 1, 1};
}

// Type 1 attributes must have a value: a date that nobody takes for a scan's stands where none was given.
constexpr auto* no_scan_start = "1900-01-01T00:00:00";

std::string cut_text(const std::string& text, std::size_t bytes) {
  std::size_t end = std::min(bytes, text.size());
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

struct PetSlice {
  std::size_t frame = 0, number = 0;
};

class PetSeriesWriter {
 public:
  explicit PetSeriesWriter(const PetSeries& series)
      : s_(series),
        values_(pet_values(series.quantity)),
        start_(read_date_time("scan_start", series.scan_start.empty() ? no_scan_start : series.scan_start)),
        decay_(decay_correction_of(series.quantity)),
        half_life_s_(!s_.tracer.isotope.empty() ? half_life_s(s_.tracer.isotope, Emission::positrons) : 0) {
    if (decay_ && decay_->half_life_s > 0) half_life_s_ = decay_->half_life_s;
    if (s_.scan_start.empty())
      values_.remarks.emplace_back("The scan's date and time are not known: the year 1900 stands for them.");
    if (!s_.comment.empty()) values_.remarks.push_back(s_.comment);
  }

  std::vector<PetSlice> slices() const {
    std::vector<PetSlice> all;
    for (std::size_t f = 0; f < s_.frames.size(); ++f)
      for (std::size_t k = 0; k < slices_in_frame(); ++k) all.push_back({f, k});
    return all;
  }

  /// UIDs follow from what all files hold without them.
  void make_uids() {
    ContentUids content;
    content.add(s_.study_uid);
    content.add(s_.frame_of_reference_uid);
    for (const PetSlice& slice : slices()) content.add(file_of(slice));
    series_uid_ = content.uid("series");
    study_uid_ = s_.study_uid.empty() ? content.uid("study") : s_.study_uid;
    frame_uid_ = s_.frame_of_reference_uid.empty() ? content.uid("frame of reference") : s_.frame_of_reference_uid;
    content_ = content;
  }

  std::string file_of(const PetSlice& slice) const {
    DicomData data;
    add_study(data);
    add_series(data);
    add_isotope(data);
    add_geometry(data, slice);
    add_times(data, slice);
    add_pixels(data, slice);
    return data.file_bytes();
  }

 private:
  std::size_t slices_in_frame() const { return static_cast<std::size_t>(s_.grid.size[2]); }
  std::size_t index_of(const PetSlice& slice) const { return slice.frame * slices_in_frame() + slice.number + 1; }

  void add_study(DicomData& data) const {
    data.text(0x0008, 0x0005, "CS", "ISO_IR 192");
    data.text(0x0010, 0x0010, "PN", s_.patient.name);
    data.text(0x0010, 0x0020, "LO", s_.patient.id);
    data.text(0x0010, 0x0030, "DA", read_dicom_date("patient.birth_date", s_.patient.birth_date));
    data.text(0x0010, 0x0040, "CS", s_.patient.sex);
    if (s_.patient.weight_kg > 0) data.text(0x0010, 0x1030, "DS", decimal_string(s_.patient.weight_kg));
    data.text(0x0020, 0x000d, "UI", study_uid_);
    data.text(0x0008, 0x0020, "DA", s_.scan_start.empty() ? "" : date_of(start_));
    data.text(0x0008, 0x0030, "TM", s_.scan_start.empty() ? "" : time_of(start_));
    data.text(0x0008, 0x0050, "SH", "");  // Accession Number
    data.text(0x0008, 0x0090, "PN", "");  // Referring Physician's Name
    data.text(0x0020, 0x0010, "SH", "");  // Study ID
    if (!s_.study_description.empty()) data.text(0x0008, 0x1030, "LO", s_.study_description);
    data.text(0x0008, 0x0070, "LO", "tofstream");  // Manufacturer
    data.text(0x0008, 0x1090, "LO", "tofstream");
    data.text(0x0018, 0x1020, "LO", cut_text(std::string(version()), 64));
  }

  void add_series(DicomData& data) const {
    data.text(0x0008, 0x0060, "CS", "PT");
    data.text(0x0020, 0x000e, "UI", series_uid_);
    data.text(0x0020, 0x0011, "IS", fmt::format("{}", s_.series_number));
    if (!s_.series_description.empty()) data.text(0x0008, 0x103e, "LO", s_.series_description);
    data.text(0x0008, 0x0021, "DA", date_of(start_));
    data.text(0x0008, 0x0031, "TM", time_of(start_));
    data.text(0x0054, 0x1000, "CS", s_.is_dynamic ? "DYNAMIC\\IMAGE" : "STATIC\\IMAGE");
    data.text(0x0054, 0x1001, "CS", values_.units);
    data.text(0x0054, 0x1002, "CS", "EMISSION");
    data.number(0x0054, 0x0081, static_cast<std::uint16_t>(slices_in_frame()));
    if (s_.is_dynamic) data.number(0x0054, 0x0101, static_cast<std::uint16_t>(s_.frames.size()));
    data.text(0x0028, 0x0051, "CS", fmt::format("{}", fmt::join(values_.corrected, "\\")));
    data.text(0x0054, 0x1102, "CS", decay_ ? "START" : "NONE");
    data.text(0x0018, 0x1181, "CS", "NONE");  // Collimator Type
    if (!s_.reconstruction.empty()) data.text(0x0054, 0x1103, "LO", cut_text(s_.reconstruction, 64));
    constexpr std::size_t longest_comment = 10240;
    if (!values_.remarks.empty())
      data.text(0x0020, 0x4000, "LT", cut_text(fmt::format("{}", fmt::join(values_.remarks, " ")), longest_comment));
    add_position(data);
  }

  // By codes: Patient Position (0018,5100) is not for PET (PS3.3, C.7.3.1).
  void add_position(DicomData& data) const {
    const PatientAxes axes = axes_of(s_.patient.position);
    DicomData lying = recumbent.item();
    lying.items(0x0054, 0x0412, one_item(axes.lying.item()));
    data.items(0x0054, 0x0410, one_item(std::move(lying)));
    data.items(0x0054, 0x0414, one_item(axes.first.item()));
  }

  void add_isotope(DicomData& data) const {
    std::vector<DicomData> items;
    const Tracer& tracer = s_.tracer;
    if (!tracer.name.empty() || !tracer.isotope.empty() || tracer.injected_MBq > 0 || !tracer.injected_at.empty())
      items.push_back(radiopharmaceutical());
    data.items(0x0054, 0x0016, items);
  }

  DicomData radiopharmaceutical() const {
    const Tracer& tracer = s_.tracer;
    DicomData item;
    std::vector<DicomData> codes;
    for (const RadionuclideCode& known : radionuclides)
      if (known.isotope == tracer.isotope) codes.push_back(known.code.item());
    item.items(0x0054, 0x0300, codes);
    if (!tracer.name.empty()) item.text(0x0018, 0x0031, "LO", tracer.name);
    constexpr double bq_per_mbq = 1e6;
    if (tracer.injected_MBq > 0) item.text(0x0018, 0x1074, "DS", decimal_string(tracer.injected_MBq * bq_per_mbq));
    if (half_life_s_ > 0) item.text(0x0018, 0x1075, "DS", decimal_string(half_life_s_));
    if (tracer.injected_at.empty()) return item;
    const DateTime injected = read_date_time("tracer.injected_at", tracer.injected_at);
    item.text(0x0018, 0x1072, "TM", time_of(injected));
    item.text(0x0018, 0x1078, "DT", date_of(injected) + time_of(injected));
    return item;
  }

  void add_geometry(DicomData& data, const PetSlice& slice) const {
    const Grid& grid = s_.grid;
    const PatientAxes signs = axes_of(s_.patient.position);
    const double z = as_written(grid.origin_mm.z) + static_cast<double>(slice.number) * as_written(grid.voxel_mm.z);
    const auto joined = [](std::initializer_list<double> values) {
      std::vector<std::string> texts;
      for (const double value : values) texts.push_back(decimal_string(value));
      return fmt::format("{}", fmt::join(texts, "\\"));
    };
    data.text(0x0020, 0x0052, "UI", frame_uid_);
    data.text(0x0020, 0x1040, "LO", "");  // Position Reference Indicator
    data.text(0x0020, 0x0032, "DS",
              joined({signs.x * as_written(grid.origin_mm.x), signs.y * as_written(grid.origin_mm.y), signs.z * z}));
    data.text(0x0020, 0x0037, "DS", fmt::format("{}\\0\\0\\0\\{}\\0", signs.x, signs.y));
    data.text(0x0028, 0x0030, "DS", joined({as_written(grid.voxel_mm.y), as_written(grid.voxel_mm.x)}));
    data.text(0x0018, 0x0050, "DS", decimal_string(as_written(grid.voxel_mm.z)));
  }

  void add_times(DicomData& data, const PetSlice& slice) const {
    const PetFrame& frame = s_.frames[slice.frame];
    const bool is_dated = !s_.scan_start.empty();
    const DateTime begin = later(start_, frame.start_s);
    data.text(0x0008, 0x0022, "DA", is_dated ? date_of(begin) : "");
    data.text(0x0008, 0x0032, "TM", is_dated ? time_of(begin) : "");
    data.text(0x0018, 0x1242, "IS",
              frame.duration_s > 0 ? fmt::format("{}", std::llround(ms_in_a_second * frame.duration_s)) : "");
    data.text(0x0054, 0x1300, "DS", decimal_string(ms_in_a_second * mean_time_s(frame)));
    if (decay_ && half_life_s_ > 0 && frame.duration_s > 0)
      data.text(0x0054, 0x1321, "DS", decimal_string(1 / mean_decay(frame.start_s, frame.duration_s, half_life_s_)));
  }

  // When the activity is its mean over the frame (PS3.3, C.8.9.4.1.5); without a half-life the frame's middle.
  double mean_time_s(const PetFrame& frame) const {
    if (half_life_s_ <= 0) return frame.start_s + frame.duration_s / 2;
    return frame.start_s - half_life_s_ * std::log2(mean_decay(0, frame.duration_s, half_life_s_));
  }

  void add_pixels(DicomData& data, const PetSlice& slice) const {
    const auto pixels = static_cast<std::size_t>(s_.grid.stride(2));
    const auto voxels = s_.frames[slice.frame].voxels.subspan(slice.number * pixels, pixels);
    const double slope_units = slope_of(voxels, slice);
    std::vector<std::int16_t> stored(pixels);
    std::ranges::transform(voxels, stored.begin(), [&](float voxel) {
      const double value = std::round(static_cast<double>(voxel) * values_.factor / slope_units);
      return static_cast<std::int16_t>(std::clamp(value, -32768.0, 32767.0));
    });
    data.text(0x0008, 0x0008, "CS", "ORIGINAL\\PRIMARY");
    data.text(0x0008, 0x0016, "UI", pet_image_storage);
    data.text(0x0008, 0x0018, "UI", content_ ? content_->uid(fmt::format("image {}", index_of(slice))) : "2.25.0");
    data.text(0x0020, 0x0013, "IS", fmt::format("{}", index_of(slice)));
    data.number(0x0054, 0x1330, static_cast<std::uint16_t>(index_of(slice)));
    data.number(0x0028, 0x0002, 1);
    data.text(0x0028, 0x0004, "CS", "MONOCHROME2");
    data.number(0x0028, 0x0010, static_cast<std::uint16_t>(s_.grid.size[1]));
    data.number(0x0028, 0x0011, static_cast<std::uint16_t>(s_.grid.size[0]));
    data.number(0x0028, 0x0100, 16);
    data.number(0x0028, 0x0101, 16);
    data.number(0x0028, 0x0102, 15);
    data.number(0x0028, 0x0103, 1);  // signed
    data.text(0x0028, 0x1052, "DS", "0");
    data.text(0x0028, 0x1053, "DS", decimal_string(slope_units));
    data.words(0x7fe0, 0x0010, stored);
  }

  // So that the slice's largest value, of either sign, is 32767; exactly as its text says it. 1 where all are 0.
  double slope_of(std::span<const float> voxels, const PetSlice& slice) const {
    double most = 0;
    for (const float voxel : voxels) {
      if (!std::isfinite(voxel))
        throw std::runtime_error(
            fmt::format("slice {} of the image has a voxel that is {}: DICOM's PET images cannot hold it",
                        slice.number + 1, voxel));
      most = std::max(most, std::abs(static_cast<double>(voxel) * values_.factor));
    }
    constexpr double largest = 32767;
    return most > 0 ? std::stod(decimal_string(most / largest)) : 1;
  }

  const PetSeries& s_;
  PetValues values_;
  DateTime start_;
  std::optional<DecayCorrection> decay_;
  double half_life_s_;  // 0: not known
  std::string study_uid_, series_uid_, frame_uid_;
  std::optional<ContentUids> content_;  // once UIDs are made
};

void require_countable(const PetSeries& series) {
  const std::size_t files = series.frames.size() * static_cast<std::size_t>(series.grid.size[2]);
  if (files > most_files)
    throw std::runtime_error(fmt::format("{} frames of {} slices are {} files, and DICOM numbers {} in a PET series: "
                                         "write NIfTI, or fewer frames",
                                         series.frames.size(), series.grid.size[2], files, most_files));
}

// `made` gets the name `place`, and what has it goes to `earlier`.
void replace_folder(const fs::path& place, const fs::path& made, const fs::path& earlier) {
  const bool is_there = fs::exists(place);
  if (is_there) fs::rename(place, earlier);
  try {
    fs::rename(made, place);
  } catch (const fs::filesystem_error&) {
    if (is_there) fs::rename(earlier, place);
    throw;
  }
}

}  // namespace

void check_pet_details(const PetSeries& series) {
  const std::pair<const char*, const std::string*> texts[] = {{"patient.name", &series.patient.name},
                                                              {"patient.id", &series.patient.id},
                                                              {"tracer.name", &series.tracer.name},
                                                              {"study_description", &series.study_description},
                                                              {"series_description", &series.series_description}};
  for (const auto& [what, text] : texts) require_dicom_text(what, *text);
  (void)read_dicom_date("patient.birth_date", series.patient.birth_date);
  require_uid("study_uid", series.study_uid);
  require_uid("frame_of_reference_uid", series.frame_of_reference_uid);
  if (!series.scan_start.empty()) (void)read_date_time("scan_start", series.scan_start);
  if (!series.tracer.injected_at.empty()) (void)read_date_time("tracer.injected_at", series.tracer.injected_at);
  if (!series.tracer.isotope.empty()) (void)half_life_s(series.tracer.isotope, Emission::positrons);
}

std::vector<std::string> pet_file_names(const PetSeries& series) {
  std::vector<std::string> names;
  for (std::size_t f = 1; f <= series.frames.size(); ++f)
    for (int k = 1; k <= series.grid.size[2]; ++k)
      names.push_back((series.is_dynamic ? fmt::format("frame_{:04}_", f) : "") + fmt::format("slice_{:04}.dcm", k));
  return names;
}

void require_pet_folder(const fs::path& folder, const std::vector<std::string>& names) {
  std::error_code not_there;
  if (!fs::exists(folder, not_there)) return;
  if (!fs::is_directory(folder, not_there))
    throw std::runtime_error(fmt::format("{}: a file, and no folder for a DICOM series", printable(folder.string())));
  for (const auto& entry : fs::directory_iterator(folder))
    if (std::ranges::find(names, entry.path().filename().string()) == names.end())
      throw std::runtime_error(fmt::format("{}: the folder holds {}, which is not of this DICOM series: name another",
                                           printable(folder.string()), printable(entry.path().filename().string())));
}

void write_pet_series(const fs::path& folder, const PetSeries& series) {
  validate(series.grid);
  check_pet_details(series);
  require_countable(series);
  const std::vector<std::string> names = pet_file_names(series);
  require_pet_folder(folder, names);
  PetSeriesWriter writer(series);
  writer.make_uids();
  const fs::path place = fs::absolute(folder);
  const PrivateTemporaryFolder temporary(place.parent_path());
  const fs::path made = temporary.path() / "series";
  fs::create_directory(made);
  std::size_t n = 0;
  for (const PetSlice& slice : writer.slices()) {
    AtomicFile file(made / names[n++]);
    file.write(writer.file_of(slice));
    file.commit();
  }
  replace_folder(place, made, temporary.path() / "earlier");
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
