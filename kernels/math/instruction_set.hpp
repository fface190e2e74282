// Which instruction set SIMD kernels run by. Highway chooses the best of the processor's; benchmarks may ask for less.
#pragma once

#include <string>
#include <vector>

namespace tofstream {

/// Those that kernels are compiled for and this processor has, the best first, by Highway's names: AVX3 is AVX-512.
std::vector<std::string> instruction_sets();

/// Kernels that are made from now on run by this one of instruction_sets(), or by the next worse one that they are
/// compiled for. Throws std::invalid_argument for any other name. Not to be undone.
void limit_instruction_set(const std::string& name);

}  // namespace tofstream
