// PET images as a DICOM series: a folder with a file of PET Image Storage (PS3.3, A.21 and C.8.9) for each slice of
// each frame.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/value/params.hpp"
#include "gadgets/io/tracer.hpp"
#include "kernels/types/grid.hpp"
#include "kernels/types/quantity.hpp"

namespace tofstream::formats {

/// How the patient lay in the scanner, by DICOM's short names (PS3.3, C.7.3.1.1.2).
enum class PatientPosition { HFS, HFP, FFS, FFP };
constexpr auto enum_names(PatientPosition) {
  return names(PatientPosition::HFS, "HFS", PatientPosition::HFP, "HFP", PatientPosition::FFS, "FFS",
               PatientPosition::FFP, "FFP");
}

/// `patient: {id: P07, weight_kg: 71}`
struct DicomPatient {
  std::string name = "Anonymous", id = "anonymous", birth_date, sex;
  double weight_kg = 0;
  PatientPosition position = PatientPosition::HFS;
  static constexpr auto params = describe(
      param<&DicomPatient::name>("name", "Name, as DICOM writes names: Family^Given"),
      param<&DicomPatient::id>("id", "ID"),
      param<&DicomPatient::birth_date>("birth_date", "Date of birth, as 1970-12-31; empty: not said"),
      param<&DicomPatient::sex>("sex", one_of("", "F", "M", "O"), "Sex; empty: not said"),
      param<&DicomPatient::weight_kg>("weight_kg", range(0, 1000), unit("kg"), "Weight; 0: not said"),
      param<&DicomPatient::position>("position",
                                     "How the patient lay: head (HF) or feet (FF) first, supine (S) or prone (P). "
                                     "It decides what is the patient's left, back and head in the image"));
};

struct PetFrame {
  double start_s = 0, duration_s = 0;  // scan time; a duration of 0: not known
  std::span<const float> voxels;       // in the grid's order
};

struct PetSeries {
  DicomPatient patient;
  Tracer tracer;
  std::string study_uid, frame_of_reference_uid;  // empty: made from the content
  std::string study_description, series_description;
  int series_number = 1;
  std::string scan_start;      // "2026-03-01T09:30:00"; empty: not known
  std::string reconstruction;  // Reconstruction Method, in words; cut at 64 characters
  std::string comment;         // more that is to be said of the values; may be empty
  const Quantity* quantity = nullptr;  // null: not known
  Grid grid;
  std::vector<PetFrame> frames;  // at least one
  bool is_dynamic = false;
};

/// What DICOM says of values of this quantity.
struct PetValues {
  std::string units;                   // Units (0054,1001)
  double factor = 1;                   // voxels times it are in these units, and of the activity at the scan's start
  std::vector<std::string> corrected;  // Corrected Image (0028,0051)
  std::vector<std::string> remarks;    // whole sentences: what a reader of the values must know
};
PetValues pet_values(const Quantity* quantity);

/// Throws std::invalid_argument, one line, where a series says of patient, tracer, study or time what DICOM does not
/// hold. Voxels and grid are not looked at.
void check_pet_details(const PetSeries& series);

/// Names of the files, frame by frame: "slice_0001.dcm" is the slice of the lowest z; of a dynamic scan
/// "frame_0001_slice_0001.dcm".
std::vector<std::string> pet_file_names(const PetSeries& series);

/// Throws std::runtime_error where the folder is there and holds anything but files of these names, or is no folder.
void require_pet_folder(const std::filesystem::path& folder, const std::vector<std::string>& names);

/// Writes the folder, which appears by rename with all its files or not at all; a folder with nothing but files of
/// these names is replaced. Voxels become signed numbers of 16 bits with a slope a slice: they are right to half of
/// 1/32767 of the slice's largest. The same series gives the same bytes. Throws std::invalid_argument as
/// check_pet_details does, and std::runtime_error of one line: a voxel that is not finite; more than 65535 files, which
/// DICOM does not number; a folder that holds other files; what cannot be written; a build without GDCM.
void write_pet_series(const std::filesystem::path& folder, const PetSeries& series);

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
