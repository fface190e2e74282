// PETSIRD's types (its model at HEAD, 69c7b78 of 2026-08-21), told subject by subject; sorted by
// name and printed as compact JSON they are the text that yardl embeds. The test is the text's
// SHA-256.
#include "gadgets/io/petsird/standard_schema.hpp"

#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gadgets/io/petsird/error.hpp"

namespace tofstream::petsird {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::vector<std::pair<const char*, Json>>;

Json object(const char* key, Json value) {
  Json json = Json::object();
  json[key] = std::move(value);
  return json;
}

std::string own(const std::string& name) {
  return "PETSIRD." + name;
}

Json vector(Json items) {
  return object("vector", object("items", std::move(items)));
}

Json vector(Json items, int length) {
  Json json = vector(std::move(items));
  json["vector"]["length"] = length;
  return json;
}

Json array(Json items) {
  return object("array", object("items", std::move(items)));
}

Json array(Json items, Json dimensions) {
  Json json = array(std::move(items));
  json["array"]["dimensions"] = std::move(dimensions);
  return json;
}

Json list(const std::vector<Json>& items) {
  return items;
}
Json length(int count) {
  return object("length", count);
}
Json dimension(const char* name) {
  return list({object("name", name)});
}
Json optional(Json type) {
  return list({nullptr, std::move(type)});
}

Json generic(const char* name, Json argument) {
  Json json = object("name", own(name));
  json["typeArguments"] = list({std::move(argument)});
  return json;
}

Json lower_triangle(const char* name) {
  return generic("LowerTriangularMatrix", own(name));
}

/// The named types; each function adds those of one subject.
class NamedTypes {
 public:
  explicit NamedTypes(Version version) {
    shapes();
    geometry();
    efficiencies();
    scanner(version);
    exam();
    events();
    blocks();
  }

  Json types() const {
    Json all = Json::array();
    for (const auto& [name, definition] : types_) all.push_back(definition);
    return all;
  }

 private:
  void alias(const char* name, Json type) { define(name, "type", std::move(type)); }

  void record(const char* name, const Fields& fields, const char* parameter = nullptr) {
    std::vector<Json> parts;
    for (const auto& [field, type] : fields) {
      Json part = object("name", field);
      part["type"] = type;
      parts.push_back(std::move(part));
    }
    define(name, "fields", list(parts), parameter);
  }

  void enumeration(const char* name, const std::vector<const char*>& symbols) {
    std::vector<Json> values;
    for (const char* symbol : symbols) {
      Json value = object("symbol", symbol);
      value["value"] = values.size();
      values.push_back(std::move(value));
    }
    define(name, "values", list(values));
  }

  void choice(const char* name, const std::vector<const char*>& cases) {
    std::vector<Json> tagged;
    for (const char* tag : cases) {
      Json one = object("tag", tag);
      one["type"] = own(tag);
      tagged.push_back(std::move(one));
    }
    alias(name, list(tagged));
  }

  void matrix(const char* name) { define(name, "type", vector(vector("T")), "T"); }

  void define(const char* name, const char* key, Json value, const char* parameter = nullptr) {
    Json definition = object("name", name);
    if (parameter != nullptr) definition["typeParameters"] = list({parameter});
    definition[key] = std::move(value);
    types_.emplace(name, std::move(definition));
  }

  void shapes() {
    matrix("LowerTriangularMatrix");
    matrix("LowerTriangularOrRectangularMatrix");
    matrix("RectangularMatrix");
    record("Coordinate", {{"c", array("float32", list({length(3)}))}});
    record("RigidTransformation", {{"matrix", array("float32", list({length(3), length(4)}))}});
    record("BoxShape", {{"corners", vector(own("Coordinate"), 8)}});
    record("AnnulusShape", {{"innerRadius", "float32"},
                            {"outerRadius", "float32"},
                            {"thickness", "float32"},
                            {"angularRange", vector("float32", 2)}});
    choice("GeometricShape", {"BoxShape", "AnnulusShape"});
    record("BinEdges", {{"edges", array("float32", 1)}});
  }

  void geometry() {
    record("SolidVolume", {{"shape", "Shape"}, {"materialId", "uint32"}}, "Shape");
    record("ReplicatedObject", {{"object", "T"}, {"transforms", vector(own("RigidTransformation"))}}, "T");
    alias("BoxSolidVolume", generic("SolidVolume", own("BoxShape")));
    alias("GenericSolidVolume", generic("SolidVolume", own("GeometricShape")));
    alias("ReplicatedBoxSolidVolume", generic("ReplicatedObject", own("BoxSolidVolume")));
    alias("ReplicatedGenericSolidVolume", generic("ReplicatedObject", own("GenericSolidVolume")));
    alias("ReplicatedDetectorModule", generic("ReplicatedObject", own("DetectorModule")));
    record("DetectorModule", {{"detectingElements", own("ReplicatedBoxSolidVolume")},
                              {"nonDetectingElements", vector(own("ReplicatedGenericSolidVolume"))}});
    record("ScannerGeometry", {{"replicatedModules", vector(own("ReplicatedDetectorModule"))},
                               {"nonDetectingVolumes", optional(vector(own("GenericSolidVolume")))}});
    record("Atom", {{"massNumber", "uint32"}, {"atomicNumber", "uint32"}});
    record("BulkMaterial", {{"id", "uint32"},
                            {"name", "string"},
                            {"density", "float32"},
                            {"atoms", vector(own("Atom"))},
                            {"massFractions", vector("float32")}});
  }

  void efficiencies() {
    alias("SGID", "int32");
    alias("DetectionBinEfficiencies", vector("float32"));
    alias("ModulePairSGIDLUT", generic("LowerTriangularOrRectangularMatrix", "int32"));
    record("ModulePairEfficiencies", {{"values", generic("RectangularMatrix", "float32")}, {"sgid", own("SGID")}});
    alias("ModulePairEfficienciesVector", vector(own("ModulePairEfficiencies")));
    record("DetectionEfficiencies",
           {{"methodDescription", "string"},
            {"calibrationFactor", "float32"},
            {"detectionBinEfficiencies", vector(own("DetectionBinEfficiencies"))},
            {"modulePairSGIDLUT", lower_triangle("ModulePairSGIDLUT")},
            {"modulePairEfficienciesVectors", lower_triangle("ModulePairEfficienciesVector")}});
    alias("SinglesAliveTimeFractions", array("float32", dimension("detectionBin")));
    alias("ModulePairAliveTimeFractions", array(generic("LowerTriangularOrRectangularMatrix", "float32")));
    record("AliveTimeFractions", {{"singlesAliveTimeFractions", vector(own("SinglesAliveTimeFractions"))},
                                  {"modulePairAliveTimeFractions", lower_triangle("ModulePairAliveTimeFractions")}});
  }

  void scanner(Version version) {
    enumeration("SinglesHistogramLevelType", {"none", "module", "all"});
    enumeration("SingleEventPolicy", {"none", "all", "rejectIfNotInCoincidence", "other"});
    enumeration("CoincidencePolicy", {"none", "rejectHigherMultiples", "multiplesAsAllCoincidences",
                                      "multiplesAsSequentialCoincidences", "other"});
    enumeration("TripleEventPolicy", {"none", "rejectHigherMultiples", "other"});
    enumeration("QuadrupleEventPolicy", {"none", "rejectHigherMultiples", "other"});
    Fields fields{{"modelName", "string"},
                  {"scannerGeometry", own("ScannerGeometry")},
                  {"bulkMaterials", vector(own("BulkMaterial"))},
                  {"gantryAlignment", optional(own("RigidTransformation"))},
                  {"collimatorType", "string"},
                  {"tofBinEdges", lower_triangle("BinEdges")},
                  {"tofResolution", generic("LowerTriangularMatrix", "float32")},
                  {"eventEnergyBinEdges", vector(own("BinEdges"))},
                  {"energyResolutionAt511", vector("float32")},
                  {"singlesHistogramLevel", own("SinglesHistogramLevelType")},
                  {"singlesHistogramEnergyBinEdges", vector(own("BinEdges"))},
                  {"singleEventPolicy", own("SingleEventPolicy")},
                  {"promptEventPolicy", own("CoincidencePolicy")},
                  {"delayedEventPolicy", own("CoincidencePolicy")},
                  {"tripleEventPolicy", own("TripleEventPolicy")},
                  {"quadrupleEventPolicy", own("QuadrupleEventPolicy")},
                  {"detectionEfficiencies", own("DetectionEfficiencies")}};
    if (version == Version::v0_10) {  // all that it lacks
      std::erase_if(fields, [](const auto& field) { return field.first == std::string("collimatorType"); });
    }
    record("ScannerInformation", fields);
    record("Header", {{"scanner", own("ScannerInformation")}, {"exam", optional(own("ExamInformation"))}});
  }

  void exam() {
    const auto code = own("DICOMBasicCodeSequence");
    alias("DICOMUID", "string");
    record("DICOMBasicCodeSequence", {{"codeValue", "string"},
                                      {"codeValueURN", "string"},
                                      {"codingSchemeDesignator", "string"},
                                      {"codingSchemeVersion", "string"},
                                      {"codeMeaning", "string"}});
    record("DICOMPatientInformation", {{"patientID", "string"},
                                       {"patientsSex", "string"},
                                       {"patientsSize", "float32"},
                                       {"patientsWeight", "float32"},
                                       {"patientsBodyMassIndex", "float32"}});
    record("DICOMPatientOrientationInformation", {{"anatomicalOrientationType", "string"},
                                                  {"patientOrientationCodeSequence", code},
                                                  {"patientOrientationModifierCodeSequence", code},
                                                  {"patientEquipmentRelationshipCodeSequence", code}});
    record("DICOMRadiopharmaceuticalInformation", {{"radiopharmaceuticalVolume", "float32"},
                                                   {"radiopharmaceuticalStartDateTime", "datetime"},
                                                   {"radiopharmaceuticalStopDateTime", "datetime"},
                                                   {"radionuclideTotalDose", "float32"},
                                                   {"radiopharmaceuticalAdministrationEventUID", own("DICOMUID")},
                                                   {"radiopharmaceuticalSpecificActivity", "float32"},
                                                   {"radiopharmaceuticalCodeSequence", code},
                                                   {"radionuclideCodeSequence", code}});
    record("Subject", {{"name", optional("string")}, {"id", "string"}});
    record("Institution", {{"name", "string"}, {"address", "string"}});
    enumeration("ExternalSignalTypeEnum", {"ecgTrace", "ecgTrigger", "respTrace", "respTrigger", "otherMotionSignal",
                                           "otherMotionTrigger", "externalSync", "mrPulseStart", "other"});
    record("ExternalSignal", {{"type", own("ExternalSignalTypeEnum")}, {"description", "string"}, {"id", "uint32"}});
    record("ExamInformation", {{"subject", own("Subject")},
                               {"institution", own("Institution")},
                               {"modality", "string"},
                               {"studyInstanceUID", own("DICOMUID")},
                               {"seriesInstanceUID", own("DICOMUID")},
                               {"sopInstanceUID", own("DICOMUID")},
                               {"frameOfReferenceUID", own("DICOMUID")},
                               {"startOfStudy", "datetime"},
                               {"startOfAcquisition", optional("datetime")},
                               {"patient", own("DICOMPatientInformation")},
                               {"patientOrientation", optional(own("DICOMPatientOrientationInformation"))},
                               {"radiopharmaceuticals", vector(own("DICOMRadiopharmaceuticalInformation"))},
                               {"externalSignals", vector(own("ExternalSignal"))}});
  }

  void events() {
    alias("DetectionBin", "uint32");
    record("SingleEvent", {{"detectionBin", own("DetectionBin")}, {"timeOffsetInTimeBlock", "uint32"}});
    record("CoincidenceEvent", {{"detectionBins", vector(own("DetectionBin"), 2)}, {"tofIdx", "uint32"}});
    record("TripleEvent", {{"detectionBins", vector(own("DetectionBin"), 3)}, {"tofIndices", vector("uint32", 2)}});
    alias("ListOfSingleEvents", vector(own("SingleEvent")));
    alias("ListOfCoincidenceEvents", vector(own("CoincidenceEvent")));
    alias("ListOfTripleEvents", vector(own("TripleEvent")));
    alias("ListOfQuadrupleEvents", vector(own("TripleEvent")));  // the standard's slip
  }

  void blocks() {
    record("TimeInterval", {{"start", "uint32"}, {"stop", "uint32"}});
    block("EventTimeBlock", {{"singleEvents", vector(own("ListOfSingleEvents"))},
                             {"promptEvents", lower_triangle("ListOfCoincidenceEvents")},
                             {"delayedEvents", lower_triangle("ListOfCoincidenceEvents")},
                             {"tripleEvents", vector(vector(vector(own("ListOfTripleEvents"))))},
                             {"quadrupleEvents", vector(vector(vector(vector(own("ListOfQuadrupleEvents")))))}});
    block("ExternalSignalTimeBlock", {{"signalID", "uint32"}, {"signalValues", vector("float32")}});
    block("BedMovementTimeBlock", {{"transform", own("RigidTransformation")}});
    block("GantryMovementTimeBlock", {{"transforms", vector(own("RigidTransformation"))}});
    block("DeadTimeTimeBlock", {{"aliveTimeFractions", own("AliveTimeFractions")}});
    alias("SinglesHistogram", array("uint64", dimension("singlesDetectionBin")));
    block("SinglesHistogramTimeBlock", {{"singlesHistograms", vector(own("SinglesHistogram"))}});
    choice("TimeBlock", {"EventTimeBlock", "ExternalSignalTimeBlock", "BedMovementTimeBlock", "GantryMovementTimeBlock",
                         "DeadTimeTimeBlock", "SinglesHistogramTimeBlock"});
  }

  void block(const char* name, Fields fields) {
    fields.insert(fields.begin(), {"timeInterval", own("TimeInterval")});
    record(name, fields);
  }

  std::map<std::string, Json> types_;
};

Json protocol() {
  Json header = object("name", "header");
  header["type"] = own("Header");
  Json blocks = object("name", "timeBlocks");
  blocks["type"] = object("stream", object("items", own("TimeBlock")));
  Json protocol = object("name", "PETSIRD");
  protocol["sequence"] = list({std::move(header), std::move(blocks)});
  return protocol;
}

}  // namespace

std::string standard_schema_text(Version version) {
  if (version != Version::head && version != Version::v0_10) {
    throw Error("PETSIRD writer writes HEAD and v0.10.0 only; choose one of them");
  }
  Json schema = object("protocol", protocol());
  schema["types"] = NamedTypes(version).types();
  return schema.dump();
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
