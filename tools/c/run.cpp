// The call of a pipeline: see tofstream.h.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "core/pipeline/pipeline.hpp"
#include "core/run/engine.hpp"
#include "gadgets/io/shared_files.hpp"
#include "tools/c/guard.hpp"

using namespace tofstream;
using namespace tofstream::c_api;

namespace {

std::filesystem::path file_of(const std::string& pipeline) {
  return pipeline.ends_with(".yaml") ? std::filesystem::path(pipeline) : find_shared("pipelines", pipeline);
}

Pipeline loaded(const char* pipeline, const char* const* settings, std::size_t count) {
  PipelineOptions options;
  for (std::size_t i = 0; i < count; ++i) {
    require_given(settings[i], "settings");
    options.sets.emplace_back(settings[i]);
  }
  try {
    return load_pipeline(file_of(pipeline), options);
  } catch (const ConfigErrors& errors) {
    throw Wrong(errors.problems().front().text());
  }
}

char* copy_of(const std::string& text) {
  char* copy = new char[text.size() + 1];
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace

extern "C" {

tof_status tof_run(const char* pipeline, const char* const* settings, size_t setting_count, const char* folder,
                   char** report) {
  return guarded([&] {
    require_given(pipeline, "pipeline");
    require_given(folder, "folder");
    require_given(report, "report");
    *report = nullptr;
    if (setting_count > 0) require_given(settings, "settings");
    RunReport ended = Engine(loaded(pipeline, settings, setting_count), {.output_dir = folder}).run();
    std::ifstream file(std::filesystem::path(folder) / "run.json");
    *report = copy_of({std::istreambuf_iterator<char>(file), {}});
    if (ended.exit_code != 0)
      throw RunFailed(ended.errors.empty() ? fmt::format("the run ended with {}", ended.exit_code)
                                           : ended.errors.front().text());
  });
}

void tof_free(char* text) {
  delete[] text;
}

}  // extern "C"
// SPDX-License-Identifier: Apache-2.0
