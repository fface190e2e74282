// The CPU's TOR projection of a range of events, compiled for every SIMD instruction set and chosen
// at run time. Images are packed by SliceLayout.
#pragma once

#include <memory>
#include <vector>

#include "kernels/project/cpu_projector.hpp"
#include "kernels/project/tor/slice_layout.hpp"
#include "kernels/project/tor/tor_model.hpp"

namespace tofstream::tor {

struct CpuSetup {
  Model model;
  std::vector<float> table;  // RadialResponse::values()
  SliceLayout layout;
};

std::unique_ptr<const CpuKernel> make_kernel(const CpuSetup& setup);

}  // namespace tofstream::tor
