// Something made from an image once and kept for as long as that image is sent, for example for each subset's
// sensitivity.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/types/image.hpp"

namespace tofstream {

template <class Value>
class PerImage {
 public:
  /// What make() gives for this image; make() is called when the image first comes, and again where `most` others have
  /// come since. Valid until the next call.
  template <class Make>
  const Value& of(const std::shared_ptr<const Image>& image, const Make& make,
                  std::size_t most = std::numeric_limits<std::size_t>::max()) {
    if (const auto found = std::ranges::find(known_, image, &Known::first); found != known_.end()) return found->second;
    std::erase_if(known_, [](const Known& known) { return known.first.use_count() == 1; });  // it is not sent again
    if (known_.size() >= most) known_.erase(known_.begin());
    known_.emplace_back(image, make());
    return known_.back().second;
  }

 private:
  using Known = std::pair<std::shared_ptr<const Image>, Value>;
  std::vector<Known> known_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
