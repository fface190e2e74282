// gzip by zlib: see unpack.hpp.
#include "gadgets/io/unpack.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

namespace tofstream {

namespace {

constexpr std::byte magic[2] = {std::byte{0x1f}, std::byte{0x8b}};

}  // namespace

/// Members of a gzip file, one after the other, as gzip -d and pigz have them.
class Unpacker::Gunzip {
 public:
  explicit Gunzip(std::size_t piece_bytes) : piece_bytes_(piece_bytes) {
    constexpr int gzip_alone = 16 + MAX_WBITS;
    if (::inflateInit2(&stream_, gzip_alone) != Z_OK) throw std::bad_alloc();
  }
  ~Gunzip() { ::inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  void push(std::span<const std::byte> packed, const Give& give) {
    constexpr std::size_t at_once = std::numeric_limits<uInt>::max();
    while (!packed.empty()) {
      const auto part = packed.first(std::min(packed.size(), at_once));
      inflate(part, give);
      packed = packed.subspan(part.size());
    }
  }

  void finish() const {
    if (!between_members_)
      throw std::runtime_error(
          fmt::format("gzip data end after {} bytes, in the middle: the file was cut short, get a fresh copy", taken_));
  }

 private:
  void inflate(std::span<const std::byte> packed, const Give& give) {
    // zlib reads these bytes only.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    bool is_full = false;  // more may come out without further bytes
    while (stream_.avail_in > 0 || is_full) {
      if (between_members_ && !begin_member()) break;
      Bytes piece(piece_bytes_);
      stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream_.avail_out = static_cast<uInt>(piece.size());
      const int state = ::inflate(&stream_, Z_NO_FLUSH);
      if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) refuse(packed.size());
      piece.resize(piece.size() - stream_.avail_out);
      is_full = stream_.avail_out == 0 && state == Z_OK;
      between_members_ = state == Z_STREAM_END;
      if (!piece.empty()) give(std::move(piece));
    }
    taken_ += packed.size();
  }

  // True where another member follows; zeros fill up the end of some files.
  bool begin_member() {
    if (has_begun_) {
      while (stream_.avail_in > 0 && *stream_.next_in == 0) {
        ++stream_.next_in;
        --stream_.avail_in;
      }
      if (stream_.avail_in == 0) return false;
      ::inflateReset(&stream_);
    }
    has_begun_ = true;
    between_members_ = false;
    return true;
  }

  [[noreturn]] void refuse(std::size_t bytes) const {
    throw std::runtime_error(fmt::format("gzip data are damaged at byte {} ({}): get a fresh copy",
                                         taken_ + bytes - stream_.avail_in, stream_.msg ? stream_.msg : "zlib"));
  }

  z_stream stream_{};
  std::size_t piece_bytes_;
  std::uint64_t taken_ = 0;
  bool between_members_ = true, has_begun_ = false;
};

Unpacker::Unpacker(std::size_t piece_bytes) : piece_bytes_(piece_bytes) {}
Unpacker::~Unpacker() = default;

void Unpacker::push(Bytes bytes, const Give& give) {
  if (is_plain_) return give(std::move(bytes));
  if (gunzip_) return gunzip_->push(bytes, give);
  if (!start_.empty()) {
    start_.insert(start_.end(), bytes.begin(), bytes.end());
    bytes = std::exchange(start_, {});
  }
  const std::size_t known = std::min(bytes.size(), std::size(magic));
  if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(known), magic)) {
    is_plain_ = true;
    return give(std::move(bytes));
  }
  if (known < std::size(magic)) {
    start_ = std::move(bytes);
    return;
  }
  gunzip_ = std::make_unique<Gunzip>(piece_bytes_);
  gunzip_->push(bytes, give);
}

void Unpacker::finish(const Give& give) {
  if (!start_.empty()) give(std::exchange(start_, {}));
  if (gunzip_) gunzip_->finish();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
