// What Interfile's keys cannot say of single views: angles of unequal steps, times and heads of each. Our headers list
// it in comments, `; tofstream view times (sec) := {10, 12, 15}`, which other programs skip.
#pragma once

#include <array>

#include "kernels/types/views.hpp"

namespace tofstream::formats {

struct ViewList {
  const char* key;
  double (*get)(const ViewPlace& place);
  void (*set)(ViewPlace& place, double value);
  bool is_angle = false, is_radius = false;  // which a user may override
};

/// A double that was a float comes back as that float.
inline constexpr std::array<ViewList, 7> view_lists = {{
    {"tofstream view angles (deg)", [](const ViewPlace& p) { return double{p.angle_deg}; },
     [](ViewPlace& p, double v) { p.angle_deg = static_cast<float>(v); }, true},
    {"tofstream view radii (mm)", [](const ViewPlace& p) { return double{p.radius_mm}; },
     [](ViewPlace& p, double v) { p.radius_mm = static_cast<float>(v); }, false, true},
    {"tofstream view centres u (mm)", [](const ViewPlace& p) { return double{p.centre_u_mm}; },
     [](ViewPlace& p, double v) { p.centre_u_mm = static_cast<float>(v); }},
    {"tofstream view centres w (mm)", [](const ViewPlace& p) { return double{p.centre_w_mm}; },
     [](ViewPlace& p, double v) { p.centre_w_mm = static_cast<float>(v); }},
    {"tofstream view starts (sec)", [](const ViewPlace& p) { return p.start_s; },
     [](ViewPlace& p, double v) { p.start_s = v; }},
    {"tofstream view times (sec)", [](const ViewPlace& p) { return p.duration_s; },
     [](ViewPlace& p, double v) { p.duration_s = v; }},
    {"tofstream view heads", [](const ViewPlace& p) { return static_cast<double>(p.head); },
     [](ViewPlace& p, double v) { p.head = v > -1e6 && v < 1e6 ? static_cast<int>(v) : -1; }},
}};

/// Which effects simulated views contain, as simulation_words() has them; a correction that the counts have had, "decay:
/// how", and the numbers of that for decay; and further reasons why an image of the views is not what its unit says.
inline constexpr const char* simulation_key = "tofstream simulation";
inline constexpr const char* corrected_key = "tofstream corrected";
inline constexpr const char* decay_key = "tofstream decay correction";  // half-life and reference time in s
inline constexpr const char* mark_key = "tofstream mark";

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
