// Which instruction set SIMD kernels use. Highway chooses the best that the processor has; benchmarks may ask for a
// lesser one.
#pragma once

#include <string>
#include <vector>

namespace tofstream {

/// The instruction sets that kernels are compiled for and that this processor has, the best first, by Highway's names:
/// AVX3 is AVX-512.
std::vector<std::string> instruction_sets();

/// Kernels made from now on use this one of instruction_sets(), or the next lesser one that they are compiled for.
/// Throws std::invalid_argument for any other name. Cannot be undone.
void limit_instruction_set(const std::string& name);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
