// Reads a document's file: see document.hpp. It stands apart because a fuzzer puts another source file in its place,
// which opens no files.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "core/value/document.hpp"

namespace tofstream {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} << 20;  // a device such as /dev/zero has no end

// Reads at most `most_bytes` and one byte more.
std::string beginning_of(std::istream& stream) {
  std::string text;
  constexpr std::size_t chunk = std::size_t{1} << 16;
  while (stream && text.size() <= most_bytes) {
    const std::size_t before = text.size();
    text.resize(before + chunk);
    stream.read(text.data() + before, chunk);
    text.resize(before + static_cast<std::size_t>(stream.gcount()));
  }
  return text;
}

}  // namespace

Value load_document(const std::filesystem::path& file, Problems& problems) {
  const Location where{std::make_shared<const std::string>(file.string()), 0, 0};
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    problems.add(where, "is a folder, not a YAML file");
    return {};
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  const std::string text = stream ? beginning_of(stream) : "";
  std::string wrong;
  if (!stream.is_open() || stream.bad())
    wrong = fmt::format("cannot be read: {}", std::strerror(errno ? errno : EIO));
  else if (text.empty())
    wrong = "is empty";
  else if (text.size() > most_bytes)
    wrong = fmt::format("is larger than {} MiB, the most that a YAML file may have", most_bytes >> 20);
  if (wrong.empty()) return parse_document(text, file.string(), problems);
  problems.add(where, wrong);
  return {};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
