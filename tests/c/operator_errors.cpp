// Every wrong argument of the C interface is told in one line, and every warning goes where the host wants it.
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/c/operators.hpp"
#include "tools/c/tofstream.h"

using namespace tofstream;
using namespace tofstream::testing;

TEST_CASE("a handle that was dropped is an error in every call, and can be dropped again") {
  tof_operator* op = spect_operator().release();
  tof_operator_drop(op);
  std::vector<float> image(small_voxels), data(turn_pixels);
  for (const tof_status status :
       {tof_forward(op, image.data(), data.data(), nullptr), tof_adjoint(op, data.data(), image.data(), nullptr),
        tof_plan(op, nullptr), tof_sensitivity(op, nullptr, image.data(), nullptr),
        tof_operator_shape(op, nullptr, nullptr, nullptr, nullptr)}) {
    CHECK(status == TOF_INVALID);
    CHECK(std::string(tof_error()) == "op is no handle of this library, or was dropped before");
  }
  CHECK(std::string(tof_operator_report(op)).empty());
  tof_operator_drop(op);
  tof_operator_drop(nullptr);
}

TEST_CASE("what the program warns of goes to the host, and nothing to the terminal") {
  std::string heard;
  const auto hear = [](void* user, std::int32_t level, const char* line) {
    static_cast<std::string*>(user)->append(std::to_string(level) + " " + line + "\n");
  };
  REQUIRE(tof_log(hear, &heard, "warning") == TOF_OK);
  (void)spect_operator("");
  CHECK(heard.starts_with("3 rotation_projector: no point spread"));
  heard.clear();
  REQUIRE(tof_log(hear, &heard, "off") == TOF_OK);
  (void)spect_operator("");
  CHECK(heard.empty());
  CHECK(tof_log(hear, &heard, "loud") == TOF_INVALID);
  int calls = 0;
  const auto fail = [](void* user, std::int32_t, const char*) {
    ++*static_cast<int*>(user);
    throw std::runtime_error("mine");
  };
  REQUIRE(tof_log(fail, &calls, "warning") == TOF_OK);
  (void)spect_operator("");
  (void)spect_operator("");
  CHECK(calls == 1);
  REQUIRE(tof_log(nullptr, nullptr, "warning") == TOF_OK);
}

TEST_CASE("a wrong argument is told in one line with its name, and nothing is made") {
  const CameraTurn turn;
  const Lines lines;
  tof_operator* op = nullptr;
  const auto said = [&](tof_status status) {
    CHECK(status != TOF_OK);
    CHECK(op == nullptr);
    const std::string text = tof_error();
    CHECK(text.find('\n') == std::string::npos);
    return text;
  };
  const auto views_said = [&](const char* projector, const char* parameters, tof_grid grid, tof_views views) {
    return said(tof_operator_of_views(projector, parameters, &grid, &views, nullptr, 0, TOF_CPU, &op));
  };
  CHECK(views_said("rotating_projector", "", small_grid, turn.views).find("did you mean 'rotation_projector'?") !=
        std::string::npos);
  CHECK(views_said("rotation_projector", "{psf_from: none}", small_grid, turn.views).find("did you mean 'psf_form'?") !=
        std::string::npos);
  CHECK(views_said("rotation_projector", "{psf: {slope: -1}}", small_grid, turn.views).find("slope") !=
        std::string::npos);
  CHECK(views_said("rotation_projector", "{psf: ", small_grid, turn.views).find("parameters:1") != std::string::npos);
  tof_grid grid = small_grid;
  grid.voxels[1] = 0;
  CHECK(views_said("rotation_projector", "", grid, turn.views).find("grid: ") == 0);
  grid = small_grid;
  grid.size = 4;
  CHECK(views_said("rotation_projector", "", grid, turn.views).find("grid.size is 4") == 0);
  tof_views views = turn.views;
  views.radius_mm = nullptr;
  CHECK(views_said("rotation_projector", "", small_grid, views) == "views.radius_mm is null");
  views = turn.views;
  views.views = 0;
  CHECK(views_said("rotation_projector", "", small_grid, views).find("views.views is 0") == 0);

  const auto events_said = [&](tof_events events) {
    return said(tof_operator_of_events("joseph_projector", nullptr, &small_grid, &events, nullptr, 0, TOF_CPU, &op));
  };
  tof_events events = lines.events;
  events.count = 0;
  CHECK(events_said(events).find("events.count is 0") == 0);
  events = lines.events;
  events.z2 = nullptr;
  CHECK(events_said(events) == "events need detector1 and detector2, or all of x1 y1 z1 x2 y2 z2");
  events = lines.events;
  events.tof_sigma_mm = 0;
  CHECK(events_said(events).find("events.tof_mm is given, and neither") == 0);
  events.tof_sigma_mm = -30;
  CHECK(events_said(events) == "events.tof_sigma_mm and tof_bin_mm are -30 and 20: give lengths, or 0");
  std::vector<float> bad(500, std::numeric_limits<float>::quiet_NaN());
  events = lines.events;
  events.y1 = bad.data();
  CHECK(events_said(events) == "events.y1[0] is nan: only finite numbers are taken");
  const std::vector<std::uint32_t> detectors(500, 1'000'000);
  events = lines.events;
  events.detector1 = events.detector2 = detectors.data();
  CHECK(events_said(events) == "events have detectors, and events.scanner is null: name the scanner");
  events.scanner = "demo_ring";
  CHECK(events_said(events).find("events.detector1[0] is 1000000, and the scanner has ") == 0);
  events.scanner = "demo_rings";
  CHECK(events_said(events).find("demo_rings") != std::string::npos);

  const Op made = spect_operator();
  std::vector<float> image(small_voxels), data(turn_pixels);
  CHECK(tof_forward(nullptr, image.data(), data.data(), nullptr) == TOF_INVALID);
  CHECK(tof_forward(made.get(), nullptr, data.data(), nullptr) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "image is null");
  CHECK(tof_em_step(made.get(), image.data(), nullptr, nullptr, nullptr, data.data(), nullptr, nullptr) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "counts is null: an EM step of views needs their counts");
  for (const auto& [wrong, words] : {std::pair(-1.0F, "counts[0, 0, 7] is -1: it must be finite and at least 0"),
                                     std::pair(std::numeric_limits<float>::quiet_NaN(),
                                               "counts[0, 0, 7] is nan: it must be finite and at least 0")}) {
    data[7] = wrong;
    std::vector<float> step(small_voxels);
    CHECK(tof_em_step(made.get(), image.data(), data.data(), nullptr, nullptr, step.data(), nullptr, nullptr) ==
          TOF_INVALID);
    CHECK(std::string(tof_error()) == words);
  }
  CHECK(tof_operator_part(made.get(), 0, 10, &op) == TOF_INVALID);
  CHECK(std::string(tof_error()) == "parts is 10: it must be in [1, 9], as many as there are data");
  std::string of_other;
  std::thread([&] { of_other = tof_error(); }).join();
  CHECK(of_other.empty());
}
// SPDX-License-Identifier: Apache-2.0
