// Decoding: the high bits of 64 bytes say where varints end, so events are found without a branch a
// byte, and PEXT gathers the 7-bit groups of a number in one step. Without BMI2: byte by byte.
#include "gadgets/io/petsird/event_codec.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tofstream::petsird {
namespace {

/// Reads a varint of at most five bytes, all of which are there; false if it is longer.
bool read_varint(const std::byte*& next, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(*next++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

std::size_t decode_bytewise(std::span<const std::byte>& bytes, std::span<CoincidenceEvent> events,
                            const EventLimits& limits) {
  std::size_t decoded = 0;
  while (decoded < events.size() && bytes.size() >= longest_event) {
    const std::byte* next = bytes.data();
    std::uint64_t bin1 = 0;
    std::uint64_t bin2 = 0;
    std::uint64_t tof = 0;
    if (!read_varint(next, bin1) || !read_varint(next, bin2) || !read_varint(next, tof)) break;
    if (bin1 >= limits.bins1 || bin2 >= limits.bins2 || tof >= limits.tof_bins) break;
    events[decoded++] = {static_cast<std::uint32_t>(bin1), static_cast<std::uint32_t>(bin2),
                         static_cast<std::uint32_t>(tof)};
    bytes = bytes.subspan(static_cast<std::size_t>(next - bytes.data()));
  }
  return decoded;
}

#if defined(__x86_64__)

/// One bit for each of 64 bytes: set where a varint ends.
std::uint64_t varint_ends(const std::byte* bytes) {
  std::uint64_t more = 0;
  for (unsigned i = 0; i < 64; i += 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i));
    more |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(block))} << i;
  }
  return ~more;
}

/// Takes events of up to eight bytes, as long as they are within the limits.
__attribute__((target("bmi,bmi2"))) std::size_t decode_bmi2(std::span<const std::byte>& bytes,
                                                            std::span<CoincidenceEvent> events,
                                                            const EventLimits& limits) {
  constexpr std::size_t block = 64;
  static_assert(block / 3 < most_events_at_once);
  constexpr std::size_t slack = sizeof(std::uint64_t);  // a word is read at each event's start
  constexpr std::uint64_t high = 0x8080808080808080U;
  const std::uint64_t last1 = std::uint64_t{limits.bins1} - 1;
  const std::uint64_t last2 = std::uint64_t{limits.bins2} - 1;
  const std::uint64_t last_tof = std::uint64_t{limits.tof_bins} - 1;
  const std::byte* next = bytes.data();
  const std::byte* const end = next + bytes.size();
  CoincidenceEvent* out = events.data();
  CoincidenceEvent* const out_end = out + events.size();
  bool regular = true;
  while (regular && out_end - out >= std::ptrdiff_t{most_events_at_once} &&
         end - next >= std::ptrdiff_t{block + slack}) {
    std::uint64_t ends = varint_ends(next);
    const std::byte* const start = next;
    int whole_events = std::popcount(ends) / 3;
    if (whole_events == 0) break;
    for (; whole_events > 0; --whole_events) {
      ends &= ends - 1;
      ends &= ends - 1;
      const int last_byte = std::countr_zero(ends);
      ends &= ends - 1;
      std::uint64_t word = 0;
      std::memcpy(&word, next, sizeof word);
      const std::uint64_t end1 = ~word & high;  // the high bits of the bytes that end a varint
      const std::uint64_t end2 = end1 & (end1 - 1);
      const std::uint64_t end3 = end2 & (end2 - 1);
      const std::uint64_t upto1 = end1 ^ (end1 - 1);
      const std::uint64_t upto2 = end2 ^ (end2 - 1);
      const std::uint64_t upto3 = end3 ^ (end3 - 1);
      const std::uint64_t bin1 = _pext_u64(word, upto1 & ~high);
      const std::uint64_t bin2 = _pext_u64(word, (upto2 ^ upto1) & ~high);
      const std::uint64_t tof = _pext_u64(word, (upto3 ^ upto2) & ~high);
      const std::uint64_t beyond = (last1 - bin1) | (last2 - bin2) | (last_tof - tof);
      if (end3 == 0 || static_cast<std::int64_t>(beyond) < 0) {
        regular = false;
        break;
      }
      *out++ = {static_cast<std::uint32_t>(bin1), static_cast<std::uint32_t>(bin2), static_cast<std::uint32_t>(tof)};
      next = start + last_byte + 1;
    }
  }
  bytes = bytes.subspan(static_cast<std::size_t>(next - bytes.data()));
  return static_cast<std::size_t>(out - events.data());
}

#endif

}  // namespace

std::size_t decode_events(std::span<const std::byte>& bytes, std::span<CoincidenceEvent> events,
                          const EventLimits& limits) {
#if defined(__x86_64__)
  static const bool has_bmi2 = __builtin_cpu_supports("bmi2") != 0;
  const std::size_t decoded = has_bmi2 ? decode_bmi2(bytes, events, limits) : 0;
  if (decoded > 0) return decoded;
#endif
  return decode_bytewise(bytes, events, limits);
}

std::size_t count_varints(std::span<const std::byte> bytes) {
  std::size_t count = 0;
#if defined(__x86_64__)
  // A byte's count is 255 at most; then bytes are added up.
  constexpr std::size_t lanes = 16, most_steps = 255;
  const __m128i least_end = _mm_set1_epi8(-1);
  while (bytes.size() >= lanes) {
    const std::size_t steps = std::min(bytes.size() / lanes, most_steps);
    __m128i ends = _mm_setzero_si128();
    for (std::size_t i = 0; i < steps; ++i) {
      const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data() + i * lanes));
      ends = _mm_sub_epi8(ends, _mm_cmpgt_epi8(block, least_end));
    }
    const __m128i sums = _mm_sad_epu8(ends, _mm_setzero_si128());
    count += static_cast<std::size_t>(_mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums)));
    bytes = bytes.subspan(steps * lanes);
  }
#endif
  for (const std::byte byte : bytes) count += (byte & std::byte{0x80}) == std::byte{0} ? 1 : 0;
  return count;
}

std::size_t encode_event(const CoincidenceEvent& event, std::span<std::byte, longest_event> bytes) {
  std::byte* next = bytes.data();
  for (std::uint32_t value : {event.bin1, event.bin2, event.tof}) {
    for (; value >= 0x80; value >>= 7) *next++ = static_cast<std::byte>(value | 0x80);
    *next++ = static_cast<std::byte>(value);
  }
  return static_cast<std::size_t>(next - bytes.data());
}

void append_varint(std::vector<std::byte>& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::byte>(value | 0x80));
  bytes.push_back(static_cast<std::byte>(value));
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
