// GATE's coincidences for `tofstream convert`: read by the Python source that comes with the examples.
#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>

#include "gadgets/io/event_formats.hpp"
#include "gadgets/io/first_bytes.hpp"

namespace tofstream {
namespace {

Holds gate_tree(const std::filesystem::path& file) {
  std::array<std::byte, 16> start{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(start.data()), start.size());
  const auto count = static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0));
  return kind_of_file(std::span(start).first(count)).name == root_name ? Holds::list : Holds::nothing;
}

TOFSTREAM_FORMAT("GATE", .words = "coincidences of GATE in ROOT", .holds = gate_tree,
                 .read = "  feed: {use: python, takes: nothing, path: '', script: examples/python/gate_source.py}\n",
                 .left_out = "the kinds of coincidences (true, scattered, random), energies and single times",
                 .asks_scanner = true);

}  // namespace
}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
