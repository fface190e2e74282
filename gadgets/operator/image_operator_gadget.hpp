// The gadget of an image operator, which stands between an update and a projector:
//
//     blurred:   {use: gaussian_psf, from: estimate}
//     projected: {use: tor_projector, from: {events: subsets, image: blurred}}
//     estimate:  {use: osem_update, from: projected}
//
// The estimate that it gives names the operator (Estimate::through). From it a projector knows the adjoint of what it
// was given, and applies it to the back projection and to the sensitivity (gadgets/step/adjoint_images.hpp). Operators
// that follow one another need nothing else, and a new one is a folder of kernels and a file beside this one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/gadget.hpp"
#include "gadgets/payloads.hpp"

namespace tofstream {

/// Images held beside those that are given: the adjoint's back projection and sensitivity.
inline MemoryNeed operator_memory(std::span<const std::size_t> inputs, const char* note) {
  return {.host_bytes = 2 * inputs[0],
          .message_bytes = inputs[0],
          .lies_with_inputs = true,
          .lower = "image.size",
          .note = note};
}

/// `Type` has
///   Params, described by `params`;
///   static constexpr const char* name;
///   static constexpr bool is_basis;  see AppliedOperator
///   static MemoryNeed memory(const Params&, std::span<const std::size_t> inputs);
///   explicit Type(const Params&);  reads files, and throws for what cannot be
///   std::shared_ptr<const ImageOperator> make(const Grid&, Backend, Context&);  called when the first image comes
///   std::string words() const;  what an image has been through: "blurred by 4 mm FWHM"
template <class Type>
struct ImageOperatorGadget {
  using Params = typename Type::Params;
  static constexpr auto params = Type::params;
  static constexpr bool own_thread = true;
  static constexpr bool harmless = true;
  static constexpr bool one_to_one = true;
  static MemoryNeed memory(const Params& p, std::span<const std::size_t> inputs) { return Type::memory(p, inputs); }

  explicit ImageOperatorGadget(const Params& p) : type_(p) {}

  void process(const Estimate& estimate, Emit<Estimate>& emit, Context& context) {
    const Image& image = *estimate.image;
    const Backend backend = on_host(image.voxels.memory()) ? Backend::cpu : Backend::cuda;
    if (!applied_.image_operator || !(applied_.image_operator->grid() == image.grid) ||
        applied_.image_operator->backend() != backend) {
      validate(image.grid);  // blobs are made voxels first
      applied_ = {type_.make(image.grid, backend, context), Type::name, Type::is_basis};
    }
    Estimate result = estimate.with(std::make_shared<const Image>(applied_.image_operator->forward(image)));
    result.through.push_back(applied_);
    // What was said of coefficients holds no longer of the image that they stand for.
    if (Type::is_basis) result.filters.clear();
    result.filters.push_back({.other = type_.words()});
    emit(std::move(result));
  }

 private:
  Type type_;
  AppliedOperator applied_ = {};
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
