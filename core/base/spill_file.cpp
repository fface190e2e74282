#include "core/base/spill_file.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "core/base/unnamed_file.hpp"

namespace tofstream {
namespace {

// A piece begins at a block of the disk, so that all of its space can be given back.
constexpr std::uint64_t block = 4096;

std::uint64_t rounded_up(std::uint64_t bytes) {
  return (bytes + block - 1) / block * block;
}

std::shared_ptr<const PlacedFile> unnamed_file(const std::filesystem::path& folder) {
  const int descriptor = open_unnamed_file(folder);
  if (descriptor < 0)
    throw std::system_error(errno, std::generic_category(), "cannot make a file in " + folder.string());
  return std::make_shared<const PlacedFile>(descriptor, "an unnamed file in " + folder.string(), "open");
}

}  // namespace

SpillPiece& SpillPiece::operator=(SpillPiece&& other) noexcept {
  SpillPiece moved(std::move(other));
  std::swap(file_, moved.file_);
  std::swap(place_, moved.place_);
  return *this;
}

SpillPiece::~SpillPiece() {
  if (file_) file_->give_back(place_);
}

std::shared_ptr<std::byte> SpillPiece::map(SpillPiece piece) {
  const FilePlace& place = piece.place();
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t before = place.offset % page;
  const std::size_t length = before + place.size;
  void* const data = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, place.file->descriptor(),
                            static_cast<off_t>(place.offset - before));
  if (data == MAP_FAILED)
    throw std::system_error(errno, std::generic_category(), "cannot map " + place.file->path().string());
  (void)::madvise(data, length, MADV_SEQUENTIAL);
  auto kept = std::make_shared<SpillPiece>(std::move(piece));
  return {static_cast<std::byte*>(data) + before,
          [data, length, kept = std::move(kept)](std::byte*) mutable { ::munmap(data, length); }};
}

SpillFile::SpillFile(const std::filesystem::path& folder) : file_(unnamed_file(folder)) {}

std::shared_ptr<SpillFile> SpillFile::in(const std::filesystem::path& folder) {
  return std::shared_ptr<SpillFile>(new SpillFile(folder.empty() ? std::filesystem::temp_directory_path() : folder));
}

SpillPiece SpillFile::put(std::span<const std::span<const std::byte>> parts) {
  FilePlace place{file_};
  for (const auto part : parts) place.size += part.size();
  {
    const std::lock_guard lock(mutex_);
    place.offset = std::exchange(end_, end_ + rounded_up(place.size));
    ++pieces_;
  }
  SpillPiece piece(shared_from_this(), place);
  file_->write(place.offset, parts);
  return piece;
}

// An empty file begins anew, so that it stays short even if the file system cannot give back a part of it.
void SpillFile::give_back(const FilePlace& place) noexcept {
  file_->give_back(place.offset, rounded_up(place.size));
  const std::lock_guard lock(mutex_);
  if (--pieces_ > 0) return;
  end_ = 0;
  [[maybe_unused]] const int failed = ::ftruncate(file_->descriptor(), 0);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
