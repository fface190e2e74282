// Which member of our structs carries which field of the standard's records: one list, used to read
// (plan.hpp) and to write (value_writer.hpp), so that a field is named once.
#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include "gadgets/io/petsird/header.hpp"
#include "gadgets/io/petsird/time_blocks.hpp"

namespace tofstream::petsird {

/// A member and its field. A stream without a needed field cannot be read; without another, the
/// member keeps its default. `old_name` is what an older version called the field.
template <class Record, class Value>
struct Member {
  std::string_view name;
  Value Record::*value;
  bool needed;
  std::string_view old_name;
};

template <class Record, class Value>
constexpr Member<Record, Value> need(std::string_view name, Value Record::*value) {
  return {name, value, true, {}};
}

template <class Record, class Value>
constexpr Member<Record, Value> may(std::string_view name, Value Record::*value, std::string_view old_name = {}) {
  return {name, value, false, old_name};
}

/// A flag of an older version that became part of another member: `apply` folds it in.
template <class Record>
struct OldFlag {
  std::string_view name;
  void (*apply)(Record&, bool flag);
};

/// Members<Record>::list is a tuple of Member and OldFlag.
template <class Record>
struct Members;

/// Symbols<Enum>::list holds the schema's symbols in the order of our enumerators.
template <class Enum>
struct Symbols;

/// Tags<Variant>::list holds the schema's tags in the order of our alternatives.
template <class Variant>
struct Tags;

template <>
struct Symbols<SinglesHistogramLevel> {
  static constexpr std::array<std::string_view, 3> list{"none", "module", "all"};
};
template <>
struct Symbols<SingleEventPolicy> {
  static constexpr std::array<std::string_view, 4> list{"none", "all", "rejectIfNotInCoincidence", "other"};
};
template <>
struct Symbols<CoincidencePolicy> {
  static constexpr std::array<std::string_view, 5> list{"none", "rejectHigherMultiples", "multiplesAsAllCoincidences",
                                                        "multiplesAsSequentialCoincidences", "other"};
};
template <>
struct Symbols<MultiplesPolicy> {
  static constexpr std::array<std::string_view, 3> list{"none", "rejectHigherMultiples", "other"};
};
template <>
struct Symbols<ExternalSignalType> {
  static constexpr std::array<std::string_view, 9> list{"ecgTrace",     "ecgTrigger",        "respTrace",
                                                        "respTrigger",  "otherMotionSignal", "otherMotionTrigger",
                                                        "externalSync", "mrPulseStart",      "other"};
};

template <>
struct Tags<GeometricShape> {
  static constexpr std::array<std::string_view, 2> list{"BoxShape", "AnnulusShape"};
};

template <>
struct Members<AnnulusShape> {
  static constexpr auto list =
      std::tuple(need("innerRadius", &AnnulusShape::inner_radius), need("outerRadius", &AnnulusShape::outer_radius),
                 need("thickness", &AnnulusShape::thickness), need("angularRange", &AnnulusShape::angular_range));
};
template <class Shape>
struct Members<SolidVolume<Shape>> {
  static constexpr auto list =
      std::tuple(need("shape", &SolidVolume<Shape>::shape), may("materialId", &SolidVolume<Shape>::material_id));
};
template <class Object>
struct Members<Replicated<Object>> {
  static constexpr auto list =
      std::tuple(need("object", &Replicated<Object>::object), need("transforms", &Replicated<Object>::transforms));
};
template <>
struct Members<DetectorModule> {
  static constexpr auto list = std::tuple(need("detectingElements", &DetectorModule::detecting_elements),
                                          may("nonDetectingElements", &DetectorModule::non_detecting_elements));
};
template <>
struct Members<ScannerGeometry> {
  static constexpr auto list = std::tuple(need("replicatedModules", &ScannerGeometry::replicated_modules),
                                          may("nonDetectingVolumes", &ScannerGeometry::non_detecting_volumes));
};
template <>
struct Members<Atom> {
  static constexpr auto list =
      std::tuple(need("massNumber", &Atom::mass_number), need("atomicNumber", &Atom::atomic_number));
};
template <>
struct Members<BulkMaterial> {
  static constexpr auto list =
      std::tuple(need("id", &BulkMaterial::id), need("name", &BulkMaterial::name),
                 may("density", &BulkMaterial::density_g_per_cm3), may("atoms", &BulkMaterial::atoms),
                 may("massFractions", &BulkMaterial::mass_fractions));
};
template <>
struct Members<ModulePairEfficiencies> {
  static constexpr auto list =
      std::tuple(need("values", &ModulePairEfficiencies::values), need("sgid", &ModulePairEfficiencies::sgid));
};
template <>
struct Members<DetectionEfficiencies> {
  using E = DetectionEfficiencies;
  static constexpr auto list =
      std::tuple(may("methodDescription", &E::method_description), may("calibrationFactor", &E::calibration_factor),
                 need("detectionBinEfficiencies", &E::detection_bin_efficiencies),
                 need("modulePairSGIDLUT", &E::module_pair_sgid_lut),
                 need("modulePairEfficienciesVectors", &E::module_pair_efficiencies));
};
template <>
struct Members<ScannerInformation> {
  using S = ScannerInformation;
  static constexpr auto list = std::tuple(
      need("modelName", &S::model_name), need("scannerGeometry", &S::geometry),
      may("bulkMaterials", &S::bulk_materials), may("gantryAlignment", &S::gantry_alignment),
      may("collimatorType", &S::collimator_type), need("tofBinEdges", &S::tof_bin_edges_mm),
      need("tofResolution", &S::tof_resolution_fwhm_mm), need("eventEnergyBinEdges", &S::event_energy_bin_edges_keV),
      may("energyResolutionAt511", &S::energy_resolution_at_511),
      may("singlesHistogramLevel", &S::singles_histogram_level),
      may("singlesHistogramEnergyBinEdges", &S::singles_histogram_energy_bin_edges_keV),
      may("singleEventPolicy", &S::single_event_policy), may("promptEventPolicy", &S::prompt_event_policy),
      may("delayedEventPolicy", &S::delayed_event_policy), may("tripleEventPolicy", &S::triple_event_policy),
      may("quadrupleEventPolicy", &S::quadruple_event_policy), need("detectionEfficiencies", &S::efficiencies),
      // v0.8-0.9 said by flags what 'none' says since.
      OldFlag<S>{"singleEventsAreStored",
                 [](S& s, bool stored) {
                   if (!stored) s.single_event_policy = SingleEventPolicy::none;
                 }},
      OldFlag<S>{"promptEventsAreStored",
                 [](S& s, bool stored) {
                   if (!stored) s.prompt_event_policy = CoincidencePolicy::none;
                 }},
      OldFlag<S>{"delayedEventsAreStored",
                 [](S& s, bool stored) {
                   if (!stored) s.delayed_event_policy = CoincidencePolicy::none;
                 }},
      OldFlag<S>{"tripleEventsAreStored",
                 [](S& s, bool stored) {
                   if (!stored) s.triple_event_policy = MultiplesPolicy::none;
                 }},
      OldFlag<S>{"quadrupleEventsAreStored", [](S& s, bool stored) {
                   if (!stored) s.quadruple_event_policy = MultiplesPolicy::none;
                 }});
};
template <>
struct Members<Subject> {
  static constexpr auto list = std::tuple(may("name", &Subject::name), may("id", &Subject::id));
};
template <>
struct Members<Institution> {
  static constexpr auto list = std::tuple(may("name", &Institution::name), may("address", &Institution::address));
};
template <>
struct Members<Code> {
  static constexpr auto list =
      std::tuple(may("codeValue", &Code::value), may("codeValueURN", &Code::value_urn),
                 may("codingSchemeDesignator", &Code::scheme_designator),
                 may("codingSchemeVersion", &Code::scheme_version), may("codeMeaning", &Code::meaning));
};
template <>
struct Members<Patient> {
  static constexpr auto list = std::tuple(
      may("patientID", &Patient::id), may("patientsSex", &Patient::sex), may("patientsSize", &Patient::size_m),
      may("patientsWeight", &Patient::weight_kg), may("patientsBodyMassIndex", &Patient::body_mass_index));
};
template <>
struct Members<PatientOrientation> {
  using P = PatientOrientation;
  static constexpr auto list = std::tuple(may("anatomicalOrientationType", &P::anatomical_type),
                                          may("patientOrientationCodeSequence", &P::orientation),
                                          may("patientOrientationModifierCodeSequence", &P::orientation_modifier),
                                          may("patientEquipmentRelationshipCodeSequence", &P::equipment_relationship));
};
template <>
struct Members<Radiopharmaceutical> {
  using R = Radiopharmaceutical;
  static constexpr auto list = std::tuple(
      may("radiopharmaceuticalVolume", &R::volume_cm3), may("radiopharmaceuticalStartDateTime", &R::start_ns),
      may("radiopharmaceuticalStopDateTime", &R::stop_ns), may("radionuclideTotalDose", &R::total_dose_MBq),
      may("radiopharmaceuticalAdministrationEventUID", &R::administration_event_uid),
      may("radiopharmaceuticalSpecificActivity", &R::specific_activity),
      may("radiopharmaceuticalCodeSequence", &R::radiopharmaceutical),
      may("radionuclideCodeSequence", &R::radionuclide));
};
template <>
struct Members<ExternalSignal> {
  static constexpr auto list =
      std::tuple(need("type", &ExternalSignal::type), may("description", &ExternalSignal::description),
                 need("id", &ExternalSignal::id));
};
template <>
struct Members<ExamInformation> {
  using E = ExamInformation;
  static constexpr auto list =
      std::tuple(may("subject", &E::subject), may("institution", &E::institution), may("modality", &E::modality),
                 may("studyInstanceUID", &E::study_instance_uid), may("seriesInstanceUID", &E::series_instance_uid),
                 may("sopInstanceUID", &E::sop_instance_uid), may("frameOfReferenceUID", &E::frame_of_reference_uid),
                 may("startOfStudy", &E::start_of_study_ns), may("startOfAcquisition", &E::start_of_acquisition_ns),
                 may("patient", &E::patient), may("patientOrientation", &E::patient_orientation),
                 may("radiopharmaceuticals", &E::radiopharmaceuticals), may("externalSignals", &E::external_signals));
};
template <>
struct Members<Header> {
  static constexpr auto list = std::tuple(need("scanner", &Header::scanner), may("exam", &Header::exam));
};

template <>
struct Members<TimeInterval> {
  static constexpr auto list = std::tuple(need("start", &TimeInterval::start_ms), need("stop", &TimeInterval::stop_ms));
};
template <>
struct Members<ExternalSignalBlock> {
  using B = ExternalSignalBlock;
  static constexpr auto list =
      std::tuple(need("timeInterval", &B::interval), need("signalID", &B::signal_id), need("signalValues", &B::values));
};
template <>
struct Members<BedMovementBlock> {
  using B = BedMovementBlock;
  static constexpr auto list = std::tuple(need("timeInterval", &B::interval), need("transform", &B::transform));
};
template <>
struct Members<GantryMovementBlock> {
  using B = GantryMovementBlock;
  static constexpr auto list =
      std::tuple(need("timeInterval", &B::interval), may("transforms", &B::transforms, "transform"));
};
template <>
struct Members<AliveTimeFractions> {
  using F = AliveTimeFractions;
  static constexpr auto list =
      std::tuple(need("singlesAliveTimeFractions", &F::singles),
                 may("modulePairAliveTimeFractions", &F::module_pairs, "moduleCoincidenceAliveTimeFractions"));
};
template <>
struct Members<DeadTimeBlock> {
  using B = DeadTimeBlock;
  static constexpr auto list =
      std::tuple(need("timeInterval", &B::interval), need("aliveTimeFractions", &B::fractions));
};
template <>
struct Members<SinglesHistogramBlock> {
  using B = SinglesHistogramBlock;
  static constexpr auto list =
      std::tuple(need("timeInterval", &B::interval), need("singlesHistograms", &B::histograms));
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
