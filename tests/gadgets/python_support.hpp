// A Python gadget under test: its script as text, in a temporary folder.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "core/testing.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/support/python.hpp"

namespace tofstream {

/// `script` follows the two imports, so its first line is line 3. `more` are YAML parameters; Out is the type that
/// `gives` chooses.
template <class Out = EventBatch>
class PythonUnderTest {
 public:
  explicit PythonUnderTest(const std::string& script, const std::string& more = "")
      : gadget_("python", parameters(script, more)) {}
  RegisteredGadgetTest<Out>* operator->() { return &gadget_; }

 private:
  std::string parameters(const std::string& script, const std::string& more) {
    std::ofstream(folder_ / "script.py") << "from tofstream import *\nimport numpy as np, os, sys, time\n" << script;
    return fmt::format("{{script: {}, python: {}{}{}}}", (folder_ / "script.py").string(), python_with_numpy(),
                       more.empty() ? "" : ", ", more);
  }
  TemporaryFolder folder_;
  RegisteredGadgetTest<Out> gadget_;
};

/// Events on ten detectors: event i of detectors i % 10 and (i + 5) % 10 and ToF i - count / 2 mm.
inline EventBatch ten_detector_batch(std::int64_t count) {
  EventBatch batch;
  batch.count = count;
  batch.start_s = 2;
  batch.duration_s = 0.5;
  batch.exposure = 0.25;
  batch.tof = {30, 5};
  std::vector<Vec3> positions;
  for (int i = 0; i < 10; ++i) positions.push_back({static_cast<float>(i), 1, 2});
  batch.detectors = std::make_shared<DetectorTable>(positions);
  batch.detector1 = batch.detector2 = Buffer<std::uint32_t>(Memory::host, count);
  batch.tof_mm = Buffer<float>(Memory::host, count);
  for (std::int64_t i = 0; i < count; ++i) {
    batch.detector1[i] = static_cast<std::uint32_t>(i % 10);
    batch.detector2[i] = static_cast<std::uint32_t>((i + 5) % 10);
    batch.tof_mm[i] = static_cast<float>(i - count / 2);
  }
  return batch;
}

inline Estimate ramp_image() {
  auto image = std::make_shared<Image>(Image::zeros(Grid::centred(4, 3, 2, {1, 2, 3})));
  for (std::int64_t i = 0; i < image->grid.voxels(); ++i) image->voxels[i] = static_cast<float>(i);
  return {{.iteration = 2, .iterations = 3, .subset = 1, .subsets = 4, .ends_iteration = false, .last = false}, image};
}

/// The error when the script gets two batches and then the end; "" if there is none.
template <class Out = EventBatch>
std::string failure_of(const std::string& script, const std::string& more = "") {
  try {
    PythonUnderTest<Out> python(script, more);
    for (int i = 0; i < 2; ++i) python->send(ten_detector_batch(20));
    python->finish();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
