// Other versions of the schema: what v0.8-v0.9 wrote differently, and future versions.
#include <nlohmann/json.hpp>

#include "gadgets/io/petsird/input.hpp"
#include "gadgets/io/petsird/standard_schema.hpp"
#include "tests/io/petsird_toy.hpp"

namespace {

using namespace tofstream::petsird;
using nlohmann::ordered_json;

/// Writes bytes by hand.
struct HandWritten {
  toy::Bytes bytes;

  HandWritten& varints(std::initializer_list<std::uint64_t> values) {
    for (const std::uint64_t value : values) append_varint(bytes, value);
    return *this;
  }
  HandWritten& floats(std::initializer_list<float> values) {
    for (const float value : values) {
      const auto raw = std::as_bytes(std::span(&value, 1));
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    }
    return *this;
  }
  HandWritten& text(std::string_view value) {
    append_varint(bytes, value.size());
    return raw(value);
  }
  HandWritten& raw(std::string_view value) {
    const auto raw = std::as_bytes(std::span(value));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    return *this;
  }
  HandWritten& schema(const ordered_json& json) {
    return raw(std::string_view("yardl\x01\0\0\0", 9)).text(json.dump());
  }
  HandWritten& append(std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return *this;
  }
};

ordered_json head() {
  return ordered_json::parse(standard_schema_text(Version::head));
}

ordered_json& definition(ordered_json& schema, const std::string& name) {
  for (ordered_json& type : schema["types"]) {
    if (type["name"] == name) return type;
  }
  throw std::logic_error("no type " + name);
}

ordered_json& field(ordered_json& schema, const std::string& type, const std::string& name) {
  for (ordered_json& one : definition(schema, type)["fields"]) {
    if (one["name"] == name) return one;
  }
  throw std::logic_error("no field " + name);
}

ordered_json json(const char* text) {
  return ordered_json::parse(text);
}

/// HEAD turned into the shapes of v0.8-v0.9, with only the fields that the test is about.
ordered_json old_schema() {
  ordered_json schema = head();
  auto& types = schema["types"];
  types.erase(std::remove_if(types.begin(), types.end(),
                             [](const ordered_json& type) { return type["name"] == "LowerTriangularMatrix"; }),
              types.end());
  definition(schema, "ScannerInformation")["fields"] = json(R"([
    {"name":"modelName","type":"string"},
    {"name":"scannerGeometry","type":"PETSIRD.ScannerGeometry"},
    {"name":"tofBinEdges","type":{"vector":{"items":{"vector":{"items":"PETSIRD.BinEdges"}}}}},
    {"name":"tofResolution","type":{"vector":{"items":{"vector":{"items":"float32"}}}}},
    {"name":"eventEnergyBinEdges","type":{"vector":{"items":"PETSIRD.BinEdges"}}},
    {"name":"promptEventPolicy","type":"PETSIRD.CoincidencePolicy"},
    {"name":"delayedEventPolicy","type":"PETSIRD.CoincidencePolicy"},
    {"name":"promptEventsAreStored","type":"bool"},
    {"name":"delayedEventsAreStored","type":"bool"},
    {"name":"detectionEfficiencies","type":"PETSIRD.DetectionEfficiencies"}])");
  definition(schema, "CoincidencePolicy")["values"] = json(R"([
    {"symbol":"rejectHigherMultiples","value":0},{"symbol":"multiplesAsAllCoincidences","value":1}])");
  const char* square = R"({"vector":{"items":{"vector":{"items":"PETSIRD.ListOfCoincidenceEvents"}}}})";
  definition(schema, "EventTimeBlock")["fields"] = json(R"([{"name":"timeInterval","type":"PETSIRD.TimeInterval"}])");
  definition(schema, "EventTimeBlock")["fields"].push_back({{"name", "promptEvents"}, {"type", json(square)}});
  definition(schema, "DetectionBinEfficiencies")["type"] =
      json(R"({"array":{"items":"float32","dimensions":[{"name":"detectionBin"}]}})");
  definition(schema, "ModulePairSGIDLUT")["type"] =
      json(R"({"array":{"items":"uint32","dimensions":[{"name":"a"},{"name":"b"}]}})");
  field(schema, "ModulePairEfficiencies", "values")["type"] =
      json(R"({"array":{"items":"float32","dimensions":[{"name":"a"},{"name":"b"}]}})");
  field(schema, "DetectionEfficiencies", "detectionBinEfficiencies")["type"] =
      json(R"([null,{"vector":{"items":"PETSIRD.DetectionBinEfficiencies"}}])");
  field(schema, "DetectionEfficiencies", "modulePairSGIDLUT")["type"] =
      json(R"([null,{"vector":{"items":{"vector":{"items":"PETSIRD.ModulePairSGIDLUT"}}}}])");
  field(schema, "DetectionEfficiencies", "modulePairEfficienciesVectors")["type"] =
      json(R"([null,{"vector":{"items":{"vector":{"items":"PETSIRD.ModulePairEfficienciesVector"}}}}])");
  definition(schema, "GantryMovementTimeBlock")["fields"] = json(R"([
    {"name":"timeInterval","type":"PETSIRD.TimeInterval"},{"name":"transform","type":"PETSIRD.RigidTransformation"}])");
  definition(schema, "AliveTimeFractions")["fields"] = json(R"([
    {"name":"singlesAliveTimeFractions","type":{"vector":{"items":"PETSIRD.SinglesAliveTimeFractions"}}},
    {"name":"moduleCoincidenceAliveTimeFractions","type":[null,{"vector":{"items":{"vector":{"items":
      {"array":{"items":"float32","dimensions":[{"name":"a"},{"name":"b"}]}}}}}}]}])");
  return schema;
}

void write_transform(HandWritten& out, const Transform& transform) {
  for (const float value : transform) out.floats({value});
}

/// Two types: one module of one element, and one module of two elements; one energy each.
void write_old_header(HandWritten& out) {
  out.text("OLD").varints({2});
  for (std::uint64_t elements = 1; elements <= 2; ++elements) {
    for (const auto& corner : toy::box(2, 2, 2)) out.floats({corner[0], corner[1], corner[2]});
    out.varints({1, elements});
    for (std::uint64_t i = 0; i < elements; ++i) write_transform(out, toy::shift_by(10, 0, static_cast<float>(i)));
    out.varints({0, 1});  // no nonDetectingVolumes; one module
    write_transform(out, toy::shift_by(0, 0, 0));
  }
  out.varints({0});  // no nonDetectingVolumes
  out.varints({3});  // ToF: a row too many
  out.varints({2, 3}).floats({-9, 0, 9}).varints({4}).floats({-5, -1, 3, 5});
  out.varints({2, 4}).floats({-5, -3, 1, 5}).varints({2}).floats({-7, 7});
  out.varints({0});
  out.varints({2, 3}).floats({4, 5, 6}).varints({2}).floats({5, 7});  // resolutions: a column too many
  out.varints({2, 2}).floats({430, 650}).varints({2}).floats({440, 650});
  out.varints({to_zigzag(1), to_zigzag(0)});  // policies
  out.varints({1, 0});                        // prompts stored, delayeds not
  out.text("how").floats({3});
  out.varints({1, 2, 1}).floats({0.5F}).varints({2}).floats({1, 2});
  const std::uint64_t minus_one = 0xffffffffU;
  out.varints({1, 2, 2, 1, 1, minus_one, 1, 2, 0, 0});       // [0][0] 1x1, [0][1] as if 1x2
  out.varints({2, 1, 1, 0, 1, 1, minus_one});                // [1][0] 1x1, [1][1] 1x1
  out.varints({1, 2, 2, 0, 0});                              // no tables for [0][*]
  out.varints({2, 1, 2, 1}).floats({7, 8}).varints({0, 0});  // [1][0]: one table of 2x1, sgid 0; none for [1][1]
  out.varints({0});                                          // no exam information
}

}  // namespace

TEST_CASE("PETSIRD versions: the shapes of v0.8-v0.9 become the same header") {
  HandWritten out;
  out.schema(old_schema());
  write_old_header(out);
  out.varints({0});
  for (const std::size_t chunk : {0, 1, 9}) {
    toy::Recording recording;
    toy::decode(out.bytes, recording, chunk);
    const ScannerInformation& scanner = recording.header.scanner;
    CHECK(scanner.tof_bin_edges_mm == Table<BinEdges>{{{-9, 0, 9}}, {{-5, -3, 1, 5}, {-7, 7}}});
    CHECK(scanner.tof_resolution_fwhm_mm == Table<float>{{4}, {5, 7}});
    CHECK(scanner.prompt_event_policy == CoincidencePolicy::multiples_as_all_coincidences);
    CHECK(scanner.delayed_event_policy == CoincidencePolicy::none);
    CHECK(scanner.efficiencies.calibration_factor == 3);
    CHECK(scanner.efficiencies.detection_bin_efficiencies == Table<float>{{0.5F}, {1, 2}});
    CHECK(scanner.efficiencies.module_pair_sgid_lut == Table<Table<std::int32_t>>{{{{-1}}}, {{{0}}, {{-1}}}});
    CHECK(scanner.efficiencies.module_pair_efficiencies[1][0] == std::vector<ModulePairEfficiencies>{{{{7}, {8}}, 0}});
    REQUIRE(recording.warnings.size() == 1);
    CHECK(recording.warnings[0].find("is not a known version") != std::string::npos);
  }
}

TEST_CASE("PETSIRD versions: the upper half of a square table is delivered turned over") {
  HandWritten out;
  out.schema(old_schema());
  write_old_header(out);
  out.varints({1, 0, 5, 6, 2});                 // one event block with two rows
  out.varints({2, 1, 0, 0, 1});                 // [0][0]: one event
  out.varints({3, 0, 0, 0, 0, 1, 1, 0, 0, 2});  // [0][1]: ToF bins of -5 -1 3 5
  out.varints({2, 1, 1, 0, 2, 1, 1, 0, 0});     // [1][0], [1][1]
  out.varints({0});
  toy::Recording recording;
  const StreamCounts counts = toy::decode(out.bytes, recording, 1);
  REQUIRE(recording.blocks.size() == 1);
  const auto& lists = recording.blocks[0].lists;
  REQUIRE(lists.size() == 3);
  CHECK(lists[0] == toy::Recording::List{EventKind::prompt, {0, 0}, {{0, 0, 1}}});
  // centres -3, 1, 4 negated are 3, -1, -4: bins 2, 1, 0 of -5 -3 1 5; then the event of [1][0] itself
  CHECK(lists[1] == toy::Recording::List{EventKind::prompt, {1, 0}, {{0, 0, 2}, {1, 0, 1}, {0, 0, 0}, {1, 0, 2}}});
  CHECK(lists[2] == toy::Recording::List{EventKind::prompt, {1, 1}, {{1, 0, 0}}});
  CHECK(counts.prompts == 6);
  CHECK(counts.rejected == 0);
}

TEST_CASE("PETSIRD versions: blocks of v0.8-v0.9") {
  HandWritten out;
  out.schema(old_schema());
  write_old_header(out);
  out.varints({1, 3, 1, 2});
  write_transform(out, toy::shift_by(1, 2, 3));
  out.varints({1, 4, 3, 4, 1, 2}).floats({0.5F, 0.75F});
  out.varints({1, 1, 1, 2, 2}).floats({1, 2, 3, 4});  // present: one table of 2x2
  out.varints({0});
  toy::Recording recording;
  toy::decode(out.bytes, recording, 2);
  REQUIRE(recording.blocks.size() == 2);
  CHECK(recording.blocks[0].other == OtherBlock(GantryMovementBlock{{1, 2}, {toy::shift_by(1, 2, 3)}}));
  CHECK(recording.blocks[1].other == OtherBlock(DeadTimeBlock{{3, 4}, {{{0.5F, 0.75F}}, {{{{1, 2}, {3, 4}}}}}}));
}

TEST_CASE("PETSIRD versions: rows beyond the types are ignored, and make events out of range rejected") {
  toy::Bytes bytes;
  Writer(toy::sink_to(bytes), toy::header()).flush();
  HandWritten out{bytes};
  out.varints({1, 0, 0, 1, 0});
  out.varints({3, 1, 2, 23, 0, 4, 24, 0, 4});               // three rows for two types; [0][0]: one good, one bad
  out.varints({2, 0, 1, 3, 3, 3, 1, 2, 9, 9, 9, 9, 9, 9});  // [1][0] none, [1][1] one; [2][0] two
  out.varints({0, 0, 0, 0});
  for (const std::size_t chunk : {0, 1}) {
    toy::Recording recording;
    const StreamCounts counts = toy::decode(out.bytes, recording, chunk);
    CHECK(counts.prompts == 3);
    CHECK(counts.rejected == 1);
    CHECK(counts.ignored == 2);
    CHECK(recording.warnings.size() == 2);
    REQUIRE(recording.blocks.at(0).lists.size() == 2);
    CHECK(recording.blocks[0].lists[0].events == std::vector<CoincidenceEvent>{{23, 0, 4}});
    CHECK(recording.blocks[0].lists[1].events == std::vector<CoincidenceEvent>{{3, 3, 3}});
  }
}

TEST_CASE("PETSIRD versions: a later schema is read with a warning; what is new is passed") {
  ordered_json schema = head();
  const std::string head_text = schema.dump();
  definition(schema, "TimeBlock")["type"].push_back({{"tag", "NewTimeBlock"}, {"type", "PETSIRD.NewTimeBlock"}});
  schema["types"].push_back(
      json(R"({"name":"NewTimeBlock","fields":[{"name":"timeInterval","type":"PETSIRD.TimeInterval"},
    {"name":"a","type":"string"},{"name":"b","type":["int32","string"]},{"name":"c","type":{"array":{"items":"float64"}}},
    {"name":"d","type":[null,"complexfloat32"]},{"name":"e","type":"bool"}]})"));
  definition(schema, "EventTimeBlock")["fields"].push_back(
      json(R"({"name":"more","type":{"vector":{"items":"PETSIRD.Subject"}}})"));
  definition(schema, "BedMovementTimeBlock")["fields"] = json(R"([{"name":"height","type":"float64"}])");

  toy::Bytes head_stream;
  Writer writer(toy::sink_to(head_stream), toy::header());
  writer.flush();
  HandWritten out;
  out.schema(schema).append(std::span(head_stream).subspan(9 + 2 + head_text.size()));
  out.varints({1, 0, 7, 8, 0, 0, 0, 0, 0, 1, 0}).text("id");  // an empty event block, with one subject more
  out.varints({1, 6, 8, 9}).text("abc").varints({1}).text("x");
  out.varints({2, 1, 2}).raw(std::string(16, '\1')).varints({1}).raw(std::string(8, '\2')).raw("\1");
  out.varints({1, 2}).raw(std::string(8, '\3'));  // a bed block of another shape
  out.varints({0});
  for (const std::size_t chunk : {0, 1}) {
    toy::Recording recording;
    const StreamCounts counts = toy::decode(out.bytes, recording, chunk);
    CHECK(recording.version == Version::unknown);
    CHECK(recording.warnings.size() == 1);
    CHECK(recording.header == toy::header());
    CHECK(counts.blocks == std::array<std::uint64_t, 7>{1, 0, 0, 0, 0, 0, 2});
    REQUIRE(recording.blocks.size() == 3);
    CHECK(recording.blocks[1].interval == TimeInterval{8, 9});
    CHECK(recording.blocks[2].interval == TimeInterval{});
  }
}

TEST_CASE("PETSIRD versions: a schema without what is needed says all that is missing") {
  ordered_json schema = head();
  auto& fields = definition(schema, "ScannerInformation")["fields"];
  fields.erase(
      std::remove_if(fields.begin(), fields.end(), [](const ordered_json& f) { return f["name"] == "tofBinEdges"; }),
      fields.end());
  field(schema, "CoincidenceEvent", "tofIdx")["type"] = "float32";
  field(schema, "ScannerInformation", "eventEnergyBinEdges")["type"] = "string";
  HandWritten out;
  out.schema(schema);
  const std::string what = toy::error_of(out.bytes);
  CAPTURE(what);
  CHECK(what.find("header.scanner.tofBinEdges is missing") != std::string::npos);
  CHECK(what.find("header.scanner.eventEnergyBinEdges has another shape (string)") != std::string::npos);
  CHECK(what.find("EventTimeBlock.promptEvents is not [type1][type2] lists") != std::string::npos);
  CHECK(what.find('\n') == std::string::npos);
}

TEST_CASE("PETSIRD versions: exam information of another shape is left out") {
  ordered_json schema = head();
  definition(schema, "ExamInformation")["fields"] =
      json(R"([{"name":"subject","type":"uint64"},{"name":"modality","type":"string"}])");
  toy::Bytes head_stream;
  Writer(toy::sink_to(head_stream), {toy::scanner(), {}}).flush();
  HandWritten out;
  out.schema(schema).append(std::span(head_stream).subspan(9 + 2 + standard_schema_text(Version::head).size()));
  out.bytes.back() = std::byte{1};
  out.varints({1ULL << 50U}).text("PT").varints({0});
  toy::Recording recording;
  toy::decode(out.bytes, recording, 1);
  REQUIRE(recording.header.exam);
  CHECK(recording.header.exam->modality == "PT");
  CHECK(recording.header.exam->subject == Subject{});
}
// SPDX-License-Identifier: Apache-2.0
