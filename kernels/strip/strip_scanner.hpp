// A pair of strips as the kernels' scanner: two detectors of which each is a module, the upper strip first.
#pragma once

#include <memory>
#include <string>

#include "kernels/strip/geometry.hpp"
#include "kernels/types/scanner.hpp"

namespace tofstream {

/// The scanner of two strips: detectors 0 and 1 at (0, +R, 0) and (0, -R, 0) mm, in coincidence with each other alone.
/// Non-ToF as a scanner, since dl is no time of flight between its two points.
std::shared_ptr<const Scanner> make_strip_scanner(const std::string& name, const StripGeometry& strips);

/// How the strips of a scanner stand. Throws std::invalid_argument, in one line, where it is no pair of strips as
/// above, or does not say how long they are.
StripGeometry strip_geometry(const Scanner& scanner);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
