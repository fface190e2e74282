// The calls of pipelines: see tofstream.h.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/value/document.hpp"
#include "gadgets/write/estimate_writer.hpp"
#include "tools/c/guard.hpp"
#include "tools/c/running_pipeline.hpp"

using namespace tofstream;
using namespace tofstream::c_api;

struct tof_image {
  TappedImage image;
  std::shared_ptr<const Image> on_host;
  std::string label;
};

namespace {

char* copy_of(const std::string& text) {
  char* copy = new char[text.size() + 1];
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

// A wait that a clock can hold.
std::chrono::duration<double> seconds_of(double wait_s) {
  constexpr double a_year = 3.2e7;
  if (!(wait_s >= 0)) throw Wrong(fmt::format("wait_s is {}: it must not be negative", wait_s));
  return std::chrono::duration<double>(std::min(wait_s, a_year));
}

RunningPipeline& checked(tof_pipeline* run) {
  require_handle(run, "run");
  return run->run;
}

tof_grid grid_of(const Grid& grid) {
  tof_grid given{.size = sizeof(tof_grid)};
  for (int axis = 0; axis < 3; ++axis) {
    given.voxels[axis] = grid.size[axis];
    given.voxel_mm[axis] = grid.voxel_mm[axis];
    given.origin_mm[axis] = grid.origin_mm[axis];
  }
  return given;
}

tof_image* image_of(TappedImage taken) {
  require_voxels(*taken.estimate);
  auto host = on_host(*taken.estimate);
  std::string label = taken.estimate->quantity ? label_of(*taken.estimate->quantity) : "";
  return new tof_image{std::move(taken), std::move(host), std::move(label)};
}

void set_parameter(Engine& engine, const std::string& setting) {
  const std::size_t equals = setting.find('='), dot = setting.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals)
    throw Wrong(fmt::format("setting is '{}': write gadget.parameter=value", setting));
  Problems problems;
  const Value value = parse_document(setting.substr(equals + 1), "setting", problems);
  if (!problems.empty()) throw Wrong(problems.all().front().text());
  const auto wrong = engine.set_parameter(setting.substr(0, dot), setting.substr(dot + 1, equals - dot - 1), value);
  if (!wrong.empty()) throw Wrong(wrong.front().text());
}

}  // namespace

extern "C" {

tof_status tof_pipeline_start(const tof_pipeline_setup* setup, tof_pipeline** made) {
  return guarded([&] {
    require_given(setup, "setup");
    require_given(made, "made");
    constexpr std::size_t without_progress = offsetof(tof_pipeline_setup, progress);
    note_handle(*made = new tof_pipeline{RunningPipeline(adopted(*setup, "setup", without_progress))});
  });
}

tof_status tof_pipeline_room(tof_pipeline* run, double wait_s, int32_t* has_room) {
  return guarded([&] {
    require_given(has_room, "has_room");
    *has_room = checked(run).feed().has_room(seconds_of(wait_s));
  });
}

tof_status tof_pipeline_send_events(tof_pipeline* run, const tof_events* events, double start_s, double duration_s) {
  return guarded([&] {
    require_given(events, "events");
    checked(run).send(*events, start_s, duration_s);
  });
}

tof_status tof_pipeline_send_views(tof_pipeline* run, const tof_view_counts* views) {
  return guarded([&] {
    require_given(views, "views");
    checked(run).send(adopted(*views, "views"));
  });
}

tof_status tof_pipeline_close_feed(tof_pipeline* run) {
  return guarded([&] { checked(run).feed().close(); });
}

tof_status tof_pipeline_image(tof_pipeline* run, double wait_s, tof_image** image) {
  return guarded([&] {
    require_given(image, "image");
    *image = nullptr;
    if (TappedImage taken = checked(run).images().take(seconds_of(wait_s)); taken.estimate)
      note_handle(*image = image_of(std::move(taken)));
  });
}

tof_status tof_image_get(const tof_image* image, tof_image_info* info) {
  return guarded([&] {
    require_handle(image, "image");
    require_given(info, "info");
    require_size(info->size, sizeof(tof_image_info), sizeof(tof_image_info), "info");
    const UpdateStep& step = image->image.estimate->step;
    *info = {.size = sizeof(tof_image_info),
             .grid = grid_of(image->on_host->grid),
             .voxels = image->on_host->voxels.data(),
             .update = step.update,
             .iteration = step.iteration,
             .is_last = step.last,
             .events = image->image.events,
             .label = image->label.c_str()};
  });
}

void tof_image_drop(tof_image* image) {
  if (forget_handle(image)) delete image;
}

tof_status tof_pipeline_set(tof_pipeline* run, const char* setting) {
  return guarded([&] {
    require_given(setting, "setting");
    set_parameter(checked(run).engine(), setting);
  });
}

tof_status tof_pipeline_report(tof_pipeline* run, char** report) {
  return guarded([&] {
    require_given(report, "report");
    *report = copy_of(run_json(checked(run).state()));
  });
}

tof_status tof_pipeline_stop(tof_pipeline* run) {
  return guarded([&] { checked(run).engine().request_stop(); });
}

tof_status tof_pipeline_wait(tof_pipeline* run, double wait_s, int32_t* is_over) {
  return guarded([&] {
    require_given(is_over, "is_over");
    *is_over = 1;  // also where it failed
    *is_over = checked(run).wait(seconds_of(wait_s));
  });
}

void tof_pipeline_drop(tof_pipeline* run) {
  if (!forget_handle(run)) return;
  if (!run->run.is_told_here()) {
    delete run;
    return;
  }
  // The run's end waits for this call of the host's to return. Without a thread the run is left to itself.
  (void)guarded([&] { std::thread([run] { delete run; }).detach(); });
}

tof_status tof_run(const char* pipeline, const char* const* settings, size_t setting_count, const char* folder,
                   char** report) {
  return guarded([&] {
    require_given(folder, "folder");
    require_given(report, "report");
    *report = nullptr;
    const RunReport ended =
        Engine(checked_pipeline(pipeline, settings, setting_count, nullptr), {.output_dir = folder}).run();
    *report = copy_of(run_json(ended));
    require_success(ended);
  });
}

void tof_free(char* text) {
  delete[] text;
}

}  // extern "C"
// SPDX-License-Identifier: Apache-2.0
