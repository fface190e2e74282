// The scanner that recorded what a source in Python gives: its detectors for the script, and for what the script gives.
#pragma once

#include <string>

#include "gadgets/python/exchange.hpp"

namespace tofstream {

/// Reads a scanner of share/scanners, or a YAML file, and notes it in `memory`, so that events given from now on are of
/// its detectors. Returns it as Python is told of it: name, modules, elements, size_mm (along the axes of the first
/// element: for rings depth, across, along the axis), tof where it has any, and in shared memory the positions of
/// detectors and for each pair of modules whether they are in coincidence. Images of these events are relative: nobody
/// knows whether the script's data were recorded with the efficiencies of the scanner's file. Throws std::runtime_error
/// of one line for a wrong file, and for a scanner of several kinds of modules.
PythonJson take_scanner(const std::string& name, SharedArena& arena, ExchangeMemory& memory);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
