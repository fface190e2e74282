// A normalisation in a PETSIRD header, in place of the efficiencies that the header has.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gadgets/io/petsird/header.hpp"
#include "gadgets/io/petsird/time_block_cutter.hpp"
#include "kernels/ring/correct/normalisation.hpp"

namespace tofstream::petsird {

/// Puts the components into the header as the standard has them: crystals' efficiencies, divided by the number of
/// energy bins; factors of classes, multiplied into the tables of module pairs; the calibration for annihilations per
/// mm^3, 1000 times that for Bq/mL, so that images of the header are in kBq/mL. `what`: methodDescription, of which a
/// simulation's words stay. Throws std::invalid_argument for numbers of crystals or classes that are not the header's,
/// and for a calibration that does not say it is for Bq/mL or kBq/mL.
void set_normalisation(Header& header, const NormalisationComponents& components, const std::string& what);

/// Reads a stream up to the end of its header, then hands on what follows.
class HeaderReplacer {
 public:
  /// `change` gets the header once it is there; what it becomes, in the stream's own version, and then the stream's
  /// time blocks unchanged go to `sink`.
  HeaderReplacer(std::function<void(Header&)> change, std::function<void(std::span<const std::byte>)> sink)
      : change_(std::move(change)),
        sink_(std::move(sink)),
        cutter_({.on_header = [this](std::span<const std::byte> bytes) { header_.assign(bytes.begin(), bytes.end()); },
                 .on_block = [](const TimeBlockCutter::Block&) {},
                 .on_warning = [](std::string_view) {}}) {}

  /// Throws Error for a stream that cannot be read, or of a version whose headers are not written, and what `change`
  /// and `sink` throw.
  void push(std::span<const std::byte> bytes);
  /// Throws Error if the stream ended within the header.
  void finish() const;

 private:
  void replace();

  std::function<void(Header&)> change_;
  std::function<void(std::span<const std::byte>)> sink_;
  TimeBlockCutter cutter_;         // finds where the header ends
  std::vector<std::byte> header_;  // the stream up to there; empty until it is whole
  std::size_t taken_ = 0;          // bytes so far
  bool is_replaced_ = false;
};

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
