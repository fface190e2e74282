// Paper 000's own GPU scheme (II.B.1-11) as a projector, with its steps callable one by one so that each can be timed.
// make_tor_projector makes it where TorSettings::cuda_path is CudaPath::paper.
#pragma once

#include "kernels/project/projector.hpp"

namespace tofstream::tor::paper {

class PaperProjector : public Projector {
 public:
  /// forward() and back() of the events that `plan` was made of, without making one.
  virtual void planned_forward(const EventPlan& plan, const EventView& events, const float* image, float* expectation,
                               Stream stream = nullptr) = 0;
  virtual void planned_back(const EventPlan& plan, const EventView& events, const float* values, float* image,
                            Stream stream = nullptr) = 0;
};

}  // namespace tofstream::tor::paper
