// Bytes inflated by ISA-L: 12e6 voxels are read in 0.12 s of a core, by zlib in 0.20 s. See nifti_stream.hpp.
#include "gadgets/io/nifti/nifti_stream.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>

namespace tofstream::detail {

namespace {

constexpr std::size_t read_bytes_at_once = std::size_t{1} << 20;

}  // namespace

NiftiStream::NiftiStream(const std::filesystem::path& path, bool gzip, const std::filesystem::path& name)
    : file_(path, std::ios::binary) {
  if (!file_) throw std::runtime_error(fmt::format("cannot open {}", name.string()));
  if (!gzip) return;
  compressed_.resize(read_bytes_at_once);
  state_ = std::make_unique<inflate_state>();
  ::isal_inflate_init(state_.get());
  state_->crc_flag = ISAL_GZIP;
}

NiftiStream::~NiftiStream() = default;

bool NiftiStream::refill() {
  file_.read(reinterpret_cast<char*>(compressed_.data()), static_cast<std::streamsize>(compressed_.size()));
  state_->next_in = compressed_.data();
  state_->avail_in = static_cast<std::uint32_t>(file_.gcount());
  return state_->avail_in > 0;
}

bool NiftiStream::read_compressed(std::uint8_t* to, std::size_t bytes) {
  state_->next_out = to;
  state_->avail_out = static_cast<std::uint32_t>(bytes);
  for (;;) {
    if (::isal_inflate(state_.get()) < 0) return false;
    if (state_->avail_out == 0) return true;
    if (state_->avail_in == 0 && !refill()) return false;
    if (state_->block_state != ISAL_BLOCK_FINISH) continue;
    ::isal_inflate_reset(state_.get());  // another member follows
    state_->crc_flag = ISAL_GZIP;
  }
}

bool NiftiStream::read(void* data, std::size_t bytes) {
  if (!state_) {
    file_.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
    return static_cast<std::size_t>(file_.gcount()) == bytes;
  }
  constexpr std::size_t most_at_once = std::size_t{1} << 30;  // ISA-L counts in 32 bits
  auto* to = static_cast<std::uint8_t*>(data);
  while (bytes > 0) {
    const std::size_t here = std::min(bytes, most_at_once);
    if (!read_compressed(to, here)) return false;
    to += here;
    bytes -= here;
  }
  return true;
}

bool NiftiStream::skip(std::int64_t bytes) {
  std::vector<char> passed(static_cast<std::size_t>(std::min<std::int64_t>(bytes, read_bytes_at_once)));
  while (bytes > 0) {
    const auto here = std::min<std::int64_t>(bytes, read_bytes_at_once);
    if (!read(passed.data(), static_cast<std::size_t>(here))) return false;
    bytes -= here;
  }
  return true;
}

}  // namespace tofstream::detail
// SPDX-License-Identifier: Apache-2.0
