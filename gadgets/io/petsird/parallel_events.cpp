// Events have no marks, but numbers end where a byte's high bit is clear: how many end before a place says which number
// of which event comes there. So pieces of the bytes are counted one after the other, for which one core does, and each
// is decoded from its first event on by whichever core is free. Nobody waits before all bytes at hand are counted: to
// wake the cores for each list of a stream, and wait for them, takes longer than to decode it.
#include "gadgets/io/petsird/parallel_events.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/input.hpp"

namespace tofstream::petsird {

namespace {

constexpr std::size_t event_piece_bytes = std::size_t{1} << 15;
// Bytes that must follow an event, so that it is decoded in the fast way.
constexpr std::size_t slack = 80;

bool ends_number(std::byte byte) {
  return (byte & std::byte{0x80}) == std::byte{0};
}

/// The events that begin in a piece of the bytes.
struct Begins {
  std::size_t at = 0;     // of the first of them
  std::size_t event = 0;  // its number
};

/// Those of the piece at `begin`, before which `numbers` numbers end.
Begins first_in_piece(std::span<const std::byte> bytes, std::size_t begin, std::size_t numbers) {
  const bool inside = begin > 0 && !ends_number(bytes[begin - 1]);
  std::size_t left = numbers % 3 == 0 && inside ? 3 : (3 - numbers % 3) % 3;  // numbers of the event before
  const std::size_t event = (numbers + left) / 3;
  while (left > 0 && begin < bytes.size()) left -= ends_number(bytes[begin++]) ? 1 : 0;
  return {begin, event};
}

/// How many bytes `events` events take.
std::size_t bytes_of(std::size_t events, std::span<const std::byte> bytes) {
  Input input;
  input.feed(bytes);
  input.skip_varints(3 * events);
  return static_cast<std::size_t>(input.offset());
}

/// Decodes one event that may be written in more bytes than it needs; false where it is out of the limits.
bool decode_event(std::span<const std::byte>& bytes, CoincidenceEvent& event, const EventLimits& limits) {
  Input input;
  input.feed(bytes);
  std::array<std::uint64_t, 3> values{};
  try {
    for (std::uint64_t& value : values)
      if (!input.varint(value, 32)) return false;
  } catch (const DataError&) {
    return false;
  }
  event = {static_cast<std::uint32_t>(values[0]), static_cast<std::uint32_t>(values[1]),
           static_cast<std::uint32_t>(values[2])};
  bytes = input.rest();
  return limits.contain(event);
}

}  // namespace

ParallelEvents::~ParallelEvents() noexcept {
  tasks_.cancel();
  try {
    tasks_.wait();
  } catch (...) {  // of a receiver whose events nobody waits for any more
  }
}

std::size_t ParallelEvents::begin(std::span<const std::byte>& bytes, std::size_t most, const EventLimits& limits,
                                  PutEvents put) {
  const std::size_t usable = bytes.size() - std::min(slack, bytes.size());
  std::vector<Begins> pieces;
  std::size_t numbers = 0;
  for (std::size_t begin = 0; begin < usable && numbers / 3 < most; begin += event_piece_bytes) {
    pieces.push_back(first_in_piece(bytes, begin, numbers));
    numbers += count_varints(bytes.subspan(begin, std::min(event_piece_bytes, usable - begin)));
  }
  const std::size_t all = std::min(numbers / 3, most);
  if (all == 0) return 0;
  pieces.push_back({.event = all});
  const Stretch& stretch = stretches_.emplace_back(Stretch{stretches_.size(), bytes, limits, std::move(put)});
  std::size_t end = 0;
  for (std::size_t p = 0; p + 1 < pieces.size() && pieces[p].event < all; ++p) {
    const std::size_t count = std::min(pieces[p + 1].event, all) - pieces[p].event;
    if (count == 0) continue;
    tasks_.run(
        [this, &stretch, at = pieces[p].at, first = pieces[p].event, count] { decode(stretch, at, first, count); });
    if (pieces[p].event + count == all) end = pieces[p].at + bytes_of(count, bytes.subspan(pieces[p].at));
  }
  bytes = bytes.subspan(end);
  return all;
}

void ParallelEvents::decode(const Stretch& stretch, std::size_t begin, std::size_t first, std::size_t count) {
  std::array<CoincidenceEvent, 1024> some;  // stay in L1
  std::span<const std::byte> rest = stretch.bytes.subspan(begin);
  for (std::size_t done = 0; done < count;) {
    const std::span<CoincidenceEvent> next = std::span(some).first(std::min(some.size(), count - done));
    std::size_t decoded = decode_events(rest, next, stretch.limits);
    if (decoded == 0) {
      const std::span<const std::byte> event = rest;
      if (!decode_event(rest, some[0], stretch.limits)) {
        note({stretch.number, first + done, event});
        return;
      }
      decoded = 1;
    }
    stretch.put(first + done, next.first(decoded));
    done += decoded;
  }
}

void ParallelEvents::note(const Failure& failure) {
  const auto place = [](const Failure& f) { return std::tuple(f.stretch, f.event); };
  const std::lock_guard lock(mutex_);
  if (!first_failure_ || place(failure) < place(*first_failure_)) first_failure_ = failure;
}

std::optional<ParallelEvents::Failure> ParallelEvents::wait() {
  if (stretches_.empty()) return {};
  tasks_.wait();
  stretches_.clear();
  return std::exchange(first_failure_, std::nullopt);
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
