// A toy family of scanners: a probe that reports the position of each decay, in mm, and misses none within its radius.
// It is built as a plug-in and adds a kind of scanner, records, files, a simulator and a projector to a tofstream that
// does not know it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "gadgets/io/wire/frame.hpp"
#include "kernels/math/vec3.hpp"
#include "kernels/types/events.hpp"
#include "kernels/types/scanner.hpp"

namespace probe {

using namespace tofstream;

inline constexpr wire::Schema records{200};  // arrays of float32 in mm: x, y, z

struct Probe {
  std::string name;
  double radius_mm = 0;
};

/// The probe of a YAML file: `name`, and `probe: {radius_mm: 40}`. Throws std::runtime_error, which lists what is
/// wrong.
Probe read_probe(const std::filesystem::path& file);

/// One detector in the middle.
std::shared_ptr<const Scanner> make_scanner(const std::string& name);

/// Room on the host for events, each of which set_place sets.
EventBatch make_batch(std::shared_ptr<const Scanner> scanner, std::int64_t count);
bool is_of_probe(const EventBatch& batch);
void set_place(EventBatch& batch, std::int64_t event, const Vec3& place_mm);
Vec3 place_of(const EventBatch& batch, std::int64_t event);

}  // namespace probe
// SPDX-License-Identifier: Apache-2.0
