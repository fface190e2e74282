// The header of a PETSIRD stream as plain structs: the model of HEAD (2026-08-21), into which the
// older versions are mapped. Lengths mm, energies keV, times ns since 1970; tables over pairs of
// module types are lower triangular, [type1][type2] with type2 <= type1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tofstream::petsird {

/// Rows of a table; lower triangular or rectangular as the member says.
template <class T>
using Table = std::vector<std::vector<T>>;

/// Ascending edges: bin k covers edges[k]..edges[k+1].
using BinEdges = std::vector<float>;

/// A rigid transformation, 3x4, row-major: (x, y, z, 1) in, (x, y, z) out.
using Transform = std::array<float, 12>;

/// The eight corners of a box or wedge, in no particular order, mm.
using BoxShape = std::array<std::array<float, 3>, 8>;

struct AnnulusShape {
  float inner_radius = 0;
  float outer_radius = 0;
  float thickness = 0;
  std::array<float, 2> angular_range{};  ///< radian, 0 along +x, around z
  bool operator==(const AnnulusShape&) const = default;
};

using GeometricShape = std::variant<BoxShape, AnnulusShape>;

template <class Shape>
struct SolidVolume {
  Shape shape{};
  std::uint32_t material_id = 0;
  bool operator==(const SolidVolume&) const = default;
};

/// One object, repeated once for each transform.
template <class Object>
struct Replicated {
  Object object{};
  std::vector<Transform> transforms;
  bool operator==(const Replicated&) const = default;
};

struct DetectorModule {
  Replicated<SolidVolume<BoxShape>> detecting_elements;
  std::vector<Replicated<SolidVolume<GeometricShape>>> non_detecting_elements;
  bool operator==(const DetectorModule&) const = default;
};

struct ScannerGeometry {
  std::vector<Replicated<DetectorModule>> replicated_modules;  ///< one for each type of module
  std::optional<std::vector<SolidVolume<GeometricShape>>> non_detecting_volumes;
  bool operator==(const ScannerGeometry&) const = default;
};

struct Atom {
  std::uint32_t mass_number = 0;
  std::uint32_t atomic_number = 0;
  bool operator==(const Atom&) const = default;
};

struct BulkMaterial {
  std::uint32_t id = 0;
  std::string name;
  float density_g_per_cm3 = 0;
  std::vector<Atom> atoms;
  std::vector<float> mass_fractions;
  bool operator==(const BulkMaterial&) const = default;
};

enum class SinglesHistogramLevel { none, module, all };
enum class SingleEventPolicy { none, all, reject_if_not_in_coincidence, other };
enum class CoincidencePolicy {
  none,
  reject_higher_multiples,
  multiples_as_all_coincidences,
  multiples_as_sequential_coincidences,
  other
};
enum class MultiplesPolicy { none, reject_higher_multiples, other };

/// Efficiencies of all bin pairs of two modules: values[bin in module 1][bin in module 2].
struct ModulePairEfficiencies {
  Table<float> values;
  std::int32_t sgid = 0;
  bool operator==(const ModulePairEfficiencies&) const = default;
};

/// Components of the detection efficiency; one that is absent (size 0) counts as 1.
struct DetectionEfficiencies {
  std::string method_description;
  float calibration_factor = 1;
  std::vector<std::vector<float>> detection_bin_efficiencies;  ///< [type][detection bin]
  /// [type1][type2][module1][module2], lower triangular where the types are equal; -1: not in
  /// coincidence.
  Table<Table<std::int32_t>> module_pair_sgid_lut;
  Table<std::vector<ModulePairEfficiencies>> module_pair_efficiencies;  ///< [type1][type2][SGID]
  bool operator==(const DetectionEfficiencies&) const = default;
};

struct ScannerInformation {
  std::string model_name;
  ScannerGeometry geometry;
  std::vector<BulkMaterial> bulk_materials;
  std::optional<Transform> gantry_alignment;  ///< gantry coordinates to those of the CT or MR
  std::string collimator_type;
  Table<BinEdges> tof_bin_edges_mm;  ///< [type1][type2]; of c*(t1-t2)/2
  Table<float> tof_resolution_fwhm_mm;
  std::vector<BinEdges> event_energy_bin_edges_keV;  ///< [type]
  std::vector<float> energy_resolution_at_511;       ///< [type]; FWHM/511 keV
  SinglesHistogramLevel singles_histogram_level = SinglesHistogramLevel::none;
  std::vector<BinEdges> singles_histogram_energy_bin_edges_keV;
  SingleEventPolicy single_event_policy = SingleEventPolicy::none;
  CoincidencePolicy prompt_event_policy = CoincidencePolicy::reject_higher_multiples;
  CoincidencePolicy delayed_event_policy = CoincidencePolicy::none;
  MultiplesPolicy triple_event_policy = MultiplesPolicy::none;
  MultiplesPolicy quadruple_event_policy = MultiplesPolicy::none;
  DetectionEfficiencies efficiencies;
  bool operator==(const ScannerInformation&) const = default;
};

struct Subject {
  std::optional<std::string> name;
  std::string id;
  bool operator==(const Subject&) const = default;
};

struct Institution {
  std::string name;
  std::string address;
  bool operator==(const Institution&) const = default;
};

struct Code {
  std::string value;
  std::string value_urn;
  std::string scheme_designator;
  std::string scheme_version;
  std::string meaning;
  bool operator==(const Code&) const = default;
};

struct Patient {
  std::string id;
  std::string sex;
  float size_m = 0;
  float weight_kg = 0;
  float body_mass_index = 0;
  bool operator==(const Patient&) const = default;
};

struct PatientOrientation {
  std::string anatomical_type;
  Code orientation;
  Code orientation_modifier;
  Code equipment_relationship;
  bool operator==(const PatientOrientation&) const = default;
};

struct Radiopharmaceutical {
  float volume_cm3 = 0;
  std::int64_t start_ns = 0;
  std::int64_t stop_ns = 0;
  float total_dose_MBq = 0;
  std::string administration_event_uid;
  float specific_activity = 0;
  Code radiopharmaceutical;
  Code radionuclide;
  bool operator==(const Radiopharmaceutical&) const = default;
};

enum class ExternalSignalType {
  ecg_trace,
  ecg_trigger,
  respiration_trace,
  respiration_trigger,
  other_motion_signal,
  other_motion_trigger,
  external_sync,
  mr_pulse_start,
  other
};

struct ExternalSignal {
  ExternalSignalType type = ExternalSignalType::other;
  std::string description;
  std::uint32_t id = 0;
  bool operator==(const ExternalSignal&) const = default;
};

struct ExamInformation {
  Subject subject;
  Institution institution;
  std::string modality;
  std::string study_instance_uid;
  std::string series_instance_uid;
  std::string sop_instance_uid;
  std::string frame_of_reference_uid;
  std::int64_t start_of_study_ns = 0;
  std::optional<std::int64_t> start_of_acquisition_ns;
  Patient patient;
  std::optional<PatientOrientation> patient_orientation;
  std::vector<Radiopharmaceutical> radiopharmaceuticals;
  std::vector<ExternalSignal> external_signals;
  bool operator==(const ExamInformation&) const = default;
};

struct Header {
  ScannerInformation scanner;
  std::optional<ExamInformation> exam;
  bool operator==(const Header&) const = default;
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
