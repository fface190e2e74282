// An unnamed file and mappings of its parts: see spill_file.hpp.
#include "gadgets/subset/spill_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/unnamed_file.hpp"

namespace tofstream {

namespace {

constexpr std::uint64_t page = 65536;  // a multiple of any page of memory
constexpr std::uint64_t line = 64;     // arrays begin at a cache line

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

class SpillFile::Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& folder) : number(open_unnamed_file(folder)) {
    if (number < 0)
      throw std::runtime_error(fmt::format("cannot make a file for events in {}: {}: set spill_folder to one that can",
                                           folder.string(), std::strerror(errno)));
  }
  ~Descriptor() { ::close(number); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

/// A part of the file in memory, given back to the disk at the end.
struct SpillFile::Mapping {
  std::shared_ptr<const Descriptor> file;
  std::uint64_t begin, bytes;
  void* data;

  Mapping(std::shared_ptr<const Descriptor> of, std::uint64_t at, std::uint64_t size)
      : file(std::move(of)),
        begin(at),
        bytes(size),
        data(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->number, static_cast<off_t>(at))) {
    if (data == MAP_FAILED)
      throw std::runtime_error(fmt::format("cannot map events on disk into memory: {}", std::strerror(errno)));
    (void)::madvise(data, bytes, MADV_SEQUENTIAL);
  }
  ~Mapping() {
    ::munmap(data, bytes);
    (void)::fallocate(file->number, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                      static_cast<off_t>(bytes));
  }
  bool contains(const void* place) const {
    const auto* const byte = static_cast<const std::byte*>(place);
    return byte >= data && byte < static_cast<const std::byte*>(data) + bytes;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
};

SpillFile::SpillFile(std::filesystem::path folder)
    : folder_(std::move(folder)), file_(std::make_shared<const Descriptor>(folder_)) {}

void SpillFile::write(const void* data, std::size_t bytes, std::uint64_t at) {
  const auto* from = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(file_->number, from, bytes, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw std::runtime_error(
          fmt::format("cannot keep events in {}: {}: set spill_folder to a larger disk, or take fewer events",
                      folder_.string(), std::strerror(errno)));
    from += written;
    at += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
}

EventBatch SpillFile::put(const EventBatch& batch) {
  const std::uint64_t begin = end_;
  for_each_array(batch, [&](const auto& array) {
    write(array.data(), array.bytes(), end_);
    end_ = rounded_up(end_ + array.bytes(), line);
  });
  const std::uint64_t bytes = end_ - begin;
  end_ = rounded_up(end_, page);
  EventBatch result = batch.without_arrays();
  if (bytes == 0) return result;
  const auto mapping = std::make_shared<const Mapping>(file_, begin, bytes);
  std::erase_if(mappings_, [](const auto& known) { return known.expired(); });
  mappings_.push_back(mapping);
  std::uint64_t at = 0;
  for_each_array_pair(result, batch, [&]<class T>(Buffer<T>& to, const Buffer<T>& from) {
    if (!from.empty()) {
      auto* const data = reinterpret_cast<T*>(static_cast<std::byte*>(mapping->data) + at);
      to = Buffer<T>::adopt(data, from.size(), mapping);
    }
    at = rounded_up(at + from.bytes(), line);
  });
  return result;
}

bool SpillFile::has(const EventBatch& batch) const {
  const void* first = nullptr;
  for_each_array(batch, [&](const auto& array) {
    if (!first) first = array.data();
  });
  return first && std::ranges::any_of(mappings_, [&](const auto& known) {
           const auto mapping = known.lock();
           return mapping && mapping->contains(first);
         });
}

}  // namespace tofstream
