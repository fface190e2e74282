// Bytes as gzip (RFC 1952), compressed on all threads.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace tofstream {

/// Compresses the spans of `input`, one after the other, into one gzip member, which goes to `write` in order, by one
/// thread at a time, while the rest is compressed. Pieces of 512 KiB are deflated by themselves (ISA-L at level 3) and
/// joined at byte boundaries, so that every reader of gzip reads them and the bytes do not depend on the number of
/// threads or on the run. At most a few pieces a thread are in memory. Throws what `write` throws.
void write_gzip(std::span<const std::span<const std::byte>> input,
                const std::function<void(std::span<const std::byte>)>& write);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
