// Files that are read at given places.
#include <algorithm>
#include <cstddef>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "core/base/placed_file.hpp"
#include "gadgets.hpp"

using namespace tofstream;
using namespace tofstream::test;

TEST_CASE("a file is read as it is, whether by one core or by several, from any place and no further than to its end") {
  const TemporaryFolder folder;
  const auto path = folder.path / "file";
  std::string bytes((std::size_t{5} << 20) + 123, ' ');
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<char>(k * 2654435761u >> 7);
  std::ofstream(path, std::ios::binary) << bytes;
  const auto file = std::make_shared<const PlacedFile>(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path, "read");
  for (const std::size_t at : {std::size_t{0}, std::size_t{77}, std::size_t{3} << 20, bytes.size() - 1, bytes.size()})
    for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{1} << 20, std::size_t{4} << 20}) {
      CAPTURE(at);
      CAPTURE(size);
      std::string there(size, '?');
      const std::size_t got = file->read(at, std::as_writable_bytes(std::span(there)));
      REQUIRE(got == std::min(size, bytes.size() - at));
      CHECK(there.compare(0, got, bytes, at, got) == 0);
      CHECK(there.find_first_not_of('?', got) == std::string::npos);
    }
  const FilePlace place{file, 100, bytes.size()};
  std::vector<std::byte> all(place.size);
  CHECK_THROWS_WITH_AS(place.read(0, all), doctest::Contains("has been cut short by another program"),
                       std::runtime_error);
}
// SPDX-License-Identifier: Apache-2.0
