// The TOR projector's versions, as make_tor_projector chooses among them.
#pragma once

#include <memory>

#include "kernels/project/tor/tor_model.hpp"

namespace tofstream::tor {

std::unique_ptr<Projector> make_cpu(const Model& model, const RadialResponse& response);
#ifdef TOFSTREAM_HAVE_CUDA
std::unique_ptr<Projector> make_cuda(const Model& model, const RadialResponse& response, CudaPath path);
#endif

}  // namespace tofstream::tor
