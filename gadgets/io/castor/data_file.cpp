// Events of CASToR data files: see data_file.hpp.
#include "gadgets/io/castor/data_file.hpp"

#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include "gadgets/io/shared_files.hpp"

namespace tofstream::castor {
namespace {

// What a file of another size than its header says may be.
std::string why_another_size(std::uintmax_t size, const DataHeader& header, const RecordLayout& layout) {
  const std::uint64_t doubled = layout.bytes + 4 * layout.floats;
  if (layout.floats > 0 && size / doubled == header.events && size % doubled == 0)
    return "its numbers would fit as double precision (FLTNBDATA), which is not read: write them as float";
  if (size % header.events == 0)
    return fmt::format("it has {} bytes for each event: correct the header's flags", size / header.events);
  if (size / layout.bytes < header.events) return "it is cut short, or is another scan's";
  return "it is longer, or another scan's";
}

}  // namespace

DataFile::DataFile(const DataHeader& header) : path_(header.data.string()), layout_(header) {
  require_readable(path_, fmt::format("the line 'Data filename' of {} names it", header.file.string()));
  if (!std::filesystem::is_regular_file(path_))
    throw std::runtime_error(
        fmt::format("{}: this is no file: 'Data filename' of {} names the events' file", path_, header.file.string()));
  const std::uintmax_t size = std::filesystem::file_size(path_);
  if (size / layout_.bytes != header.events || size % layout_.bytes != 0)
    throw std::runtime_error(fmt::format("{}: {} bytes, and {} says {} events of {} bytes ({}): {}", path_, size,
                                         header.file.string(), header.events, layout_.bytes, layout_in_words(header),
                                         why_another_size(size, header, layout_)));
  file_.open(path_, std::ios::binary);
  if (!file_) throw std::runtime_error(fmt::format("{}: cannot be opened", path_));
}

void DataFile::read(std::uint64_t first, std::uint64_t count, std::vector<std::byte>& bytes) {
  bytes.resize(static_cast<std::size_t>(count) * layout_.bytes);
  file_.seekg(static_cast<std::streamoff>(first * layout_.bytes));
  file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file_)
    throw std::runtime_error(
        fmt::format("{}: the file ends within the {} events that follow: it became shorter", place_of(first), count));
}

std::string DataFile::place_of(std::uint64_t event) const {
  return fmt::format("{}: event {} (byte {})", path_, event, event * layout_.bytes);
}

}  // namespace tofstream::castor
// SPDX-License-Identifier: Apache-2.0
