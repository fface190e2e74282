// A byte stream that may be packed by gzip (RFC 1952): what is packed is unpacked as it comes, all else is handed on as
// it is. Which of the two it is, its first two bytes say.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace tofstream {

class Unpacker {
 public:
  using Bytes = std::vector<std::byte>;
  using Give = std::function<void(Bytes&&)>;

  /// `piece_bytes`: the most that unpacked bytes are handed on in at a time.
  explicit Unpacker(std::size_t piece_bytes = std::size_t{1} << 20);
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  /// The next bytes of the stream; what can be told of them goes to `give`, in order. Throws std::runtime_error where
  /// packed data are damaged; what `give` throws comes out of here.
  void push(Bytes bytes, const Give& give);
  /// The end of the stream. Throws std::runtime_error where packed data end early.
  void finish(const Give& give);

 private:
  class Gunzip;
  std::size_t piece_bytes_;
  bool is_plain_ = false;
  Bytes start_;  // while it is too short to tell
  std::unique_ptr<Gunzip> gunzip_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
