// The JSON Schema of pipelines, judged by an independent validator (valijson): every pipeline that comes with tofstream
// is valid, and wrong ones are not.
#include "core/describe/schema.hpp"

#include <filesystem>

#include <nlohmann/json.hpp>

// GCC 12 wrongly takes a length in valijson's text replacement for negative (GCC bug 105651).
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wrestrict"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "core/gadget/value_json.hpp"
#include "core/pipeline/pipeline.hpp"
#include "core/value/document.hpp"
#include "tests/support/skip.hpp"

using namespace tofstream;

namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;
using Json = nlohmann::json;

const valijson::Schema& schema() {
  static valijson::Schema parsed;
  [[maybe_unused]] static const bool once = [] {
    const Json json = Json::parse(pipeline_schema(registry()).dump());
    valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(Adapter(json), parsed);
    return true;
  }();
  return parsed;
}

// The validator's errors for the document, innermost first; empty if it is valid.
std::string objections(const Value& document) {
  const Json json = Json::parse(to_json(document).dump());
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema(), Adapter(json), &results)) return "";
  std::string text;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& part : error.context) text += part;
    text += fmt::format(": {}\n", error.description);
  }
  return text;
}

std::string objections_to(const std::string& yaml) {
  Problems problems;
  const Value document = parse_document(yaml, "test.yaml", problems);
  REQUIRE(problems.empty());
  return objections(document);
}

bool valid(const std::string& yaml) {
  return objections_to(yaml).empty();
}

// A pipeline in which `text` stands for the writer.
std::string with_writer(const std::string& text) {
  return fmt::format("scanner: demo_ring\ngadgets:\n  photons: {{use: simulator, phantom: nema_iq}}\n  file: {}\n",
                     text);
}

}  // namespace

TEST_CASE("every pipeline and example that comes with tofstream meets the schema") {
  std::size_t files = 0;
  for (const char* folder : {"pipelines", "share/examples"}) {
    if (!std::filesystem::is_directory(folder)) return skip_test("sources beside the test");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".yaml") continue;
      ++files;
      Problems problems;
      const Value document = load_document(entry.path(), problems);
      CHECK(problems.empty());
      CHECK_MESSAGE(objections(document) == "", entry.path().string());
    }
  }
  CHECK(files >= 20);
}

TEST_CASE("the schema accepts all that a gadget may say") {
  CHECK(objections_to(with_writer("{use: petsird_writer, from: photons}")) == "");
  for (const std::string writer :
       {"{use: petsird_writer, from: [photons, photons.events], merge: ordered}",
        "{use: petsird_writer, from: photons, edge: {policy: drop_oldest, messages: 3, bytes: 1000000}}",
        "{use: petsird_writer, from: photons, fault: {throw_at: 5, delay_ms: 1.5}}",
        "{use: petsird_writer, from: photons, file: \"${out:-x}.petsird\"}",
        "{use: tof_window, from: photons, half_width_mm: \"${width}\", parallel: auto}",
        "{use: tof_window, from: photons, half_width_mm: 10, parallel: 3}", "{use: \"${writer}\", anything: 5}",
        "{use: pipeline, file: sub.yaml, from: photons, variables: {a: [1]}}",
        "{use: tor_projector, from: {events: photons, image: e}, edge: {messages: 4, image: {messages: 1}}, join: "
        "sequence}"})
    CHECK_MESSAGE(valid(with_writer(writer)), writer);
  CHECK(valid("include: base.yaml\ngadgets: {feed: ~, sorted: {from: photons}, file: {use: petsird_writer}}"));
  CHECK(valid("inputs: [events]\noutputs: {all: a}\ngadgets: {a: {use: petsird_writer, from: events}}"));
  for (const std::string image : {"auto", "\"${grid}\"", "{voxel_mm: 2}", "{voxel_mm: [2, 2, 3]}", "~"})
    CHECK_MESSAGE(valid("image: " + image + "\ngadgets: {a: {use: osem_update, from: b}}"), image);
  CHECK(valid("variables: {a: 1}\npipeline: x\nimage: {size: [4, 4, 4]}\ngadgets: {a: {use: osem_update, from: b}}"));
}

TEST_CASE("the schema refuses what check refuses") {
  for (const std::string writer : {"{use: petsird_writter, from: photons}",
                                   "{from: photons}",
                                   "~",
                                   "{use: petsird_writer}",
                                   "{use: petsird_writer, from: photons, fil: x}",
                                   "{use: petsird_writer, from: {photon: photons}}",
                                   "{use: petsird_writer, from: photons, parallel: 2}",
                                   "{use: petsird_writer, from: photons, join: sequence}",
                                   "{use: petsird_writer, from: photons, merge: sorted}",
                                   "{use: petsird_writer, from: photons, edge: {message: 3}}",
                                   "{use: petsird_writer, from: photons, edge: {messages: 0}}",
                                   "{use: petsird_writer, from: photons, fault: {throw_at: -1}}",

                                   "{use: tof_window, from: photons, half_width_mm: 0}",
                                   "{use: tof_window, from: photons, half_width_mm: wide}",
                                   "{use: tof_window, from: photons, half_width_mm: 1, parallel: all}",
                                   "{use: nifti_writer, from: photons, every: update2}",
                                   "{use: tor_projector, from: photons}",
                                   "{use: tor_projector, from: {events: photons}}",
                                   "{use: osem_update, from: photons, image: {size: [4, 4]}}",
                                   "{use: osem_update, from: photons, image: {size: [4, 4, 4.5]}}",
                                   "{use: osem_update, from: photons, image: {voxel: 4}}",
                                   "{use: osem_update, from: photons, image: {voxel_mm: 0}}",
                                   "{use: osem_update, from: photons, image: large}",
                                   "{use: pipeline, from: photons}",
                                   "{use: simulator, phantom: nema_iq, from: photons}"}) {
    CHECK_MESSAGE(!valid(with_writer(writer)), writer);
    const std::string yaml = with_writer(writer);  // the schema is no stricter than check
    CHECK_THROWS_AS(parse_pipeline(yaml, "test.yaml"), ConfigErrors);
  }
  CHECK_FALSE(valid("gadgets: {photons: {use: simulator, phantom: nema_iq}}"));  // no scanner here or above
  CHECK_FALSE(valid("scaner: demo_ring\ngadgets: {photons: {use: simulator, scanner: a, phantom: nema_iq}}"));
  CHECK_FALSE(valid("image: {size: 5}\ngadgets: {a: {use: osem_update, from: b}}"));
  CHECK_FALSE(valid("pipeline: nothing"));
}

TEST_CASE("an objection names the key") {
  const std::string text = objections_to(with_writer("{use: petsird_writer, from: photons, fil: x}"));
  CHECK(text.find("fil") != std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
