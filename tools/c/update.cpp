// The updates of images: see tofstream.h.
#include <utility>

#include "kernels/em/em_update.hpp"
#include "tools/c/guard.hpp"
#include "tools/c/operator.hpp"

using namespace tofstream;
using namespace tofstream::c_api;

namespace {

// A copy that owns its voxels, in the same memory.
Image image_of(const Operator& op, const float* voxels, Stream stream) {
  const Memory memory = memory_of(op.backend());
  Image image{op.grid(), Buffer<float>(memory, op.grid().voxels(), stream)};
  tofstream::detail::copy(image.voxels.data(), memory, voxels, memory, image.bytes(), stream);
  return image;
}

}  // namespace

extern "C" tof_status tof_em_update(tof_operator* op, const float* step, const float* sensitivity, const float* whole,
                                    float* image, void* stream) {
  return guarded([&] {
    require_handle(op, "op");
    const Operator& of = *op->made.op;
    const bool on_device = of.backend() == Backend::cuda;
    const std::pair<const float*, const char*> needed[] = {
        {step, "step"}, {sensitivity, "sensitivity"}, {image, "image"}};
    for (const auto& [array, name] : needed) {
      require_given(array, name);
      require_memory(array, on_device, name);
    }
    require_memory(whole, on_device, "whole");
    op->work->run(on_device ? static_cast<Stream>(stream) : nullptr, [&](Stream here) {
      const Image own = image_of(of, sensitivity, here);
      const Image inverse =
          whole ? inverse_sensitivity(own, image_of(of, whole, here), default_sensitivity_fraction, here)
                : inverse_sensitivity(own, default_sensitivity_fraction, here);
      Image estimate = image_of(of, image, here);
      em_update(estimate, inverse, image_of(of, step, here), 1, here);
      const Memory memory = memory_of(of.backend());
      tofstream::detail::copy(image, memory, estimate.voxels.data(), memory, estimate.bytes(), here);
      synchronize(here);
    });
  });
}
// SPDX-License-Identifier: Apache-2.0
