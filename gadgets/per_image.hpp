// What is made of an image once, for as long as somebody sends that image: of each subset's sensitivity, of which there
// may be many.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/types/image.hpp"

namespace tofstream {

template <class Value>
class PerImage {
 public:
  /// What make() gave for this very image; it is called where the image comes for the first time. Valid until the next
  /// call.
  template <class Make>
  const Value& of(const std::shared_ptr<const Image>& image, const Make& make) {
    if (const auto found = std::ranges::find(known_, image, &Known::first); found != known_.end()) return found->second;
    std::erase_if(known_, [](const Known& known) { return known.first.use_count() == 1; });  // nobody sends it again
    known_.emplace_back(image, make());
    return known_.back().second;
  }

 private:
  using Known = std::pair<std::shared_ptr<const Image>, Value>;
  std::vector<Known> known_;
};

}  // namespace tofstream
