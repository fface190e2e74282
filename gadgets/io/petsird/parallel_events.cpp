// Events have no marks, but numbers end where a byte's high bit is clear: how many end before a place says which number
// of which event comes there. So pieces of the bytes are counted first, for which one core does, and then each is decoded
// from its first event on, all at a time.
#include "gadgets/io/petsird/parallel_events.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <tbb/parallel_for.h>

namespace tofstream::petsird {

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 14;

bool ends_number(std::byte byte) {
  return (byte & std::byte{0x80}) == std::byte{0};
}

/// The events that begin in a piece of the bytes.
struct Piece {
  std::size_t begin = 0;        // of the first of them, in the bytes
  std::size_t first_event = 0;  // its number
  std::size_t decoded = 0;
  std::size_t end = 0;  // of what was decoded
};

/// Where the first event begins that begins in the piece at `begin`, before which `numbers` numbers end.
Piece first_in_piece(std::span<const std::byte> bytes, std::size_t begin, std::size_t numbers) {
  const bool inside = begin > 0 && !ends_number(bytes[begin - 1]);
  std::size_t left = numbers % 3 == 0 && inside ? 3 : (3 - numbers % 3) % 3;  // numbers of the event before
  Piece piece{begin, (numbers + left) / 3};
  while (left > 0 && piece.begin < bytes.size()) left -= ends_number(bytes[piece.begin++]) ? 1 : 0;
  return piece;
}

/// Decodes `count` events, or until the next one cannot be decoded.
void decode(std::span<const std::byte> bytes, std::size_t count, const EventLimits& limits, const PutEvents& put,
            Piece& piece) {
  std::array<CoincidenceEvent, 1024> some;  // stay in L1
  std::span<const std::byte> rest = bytes.subspan(piece.begin);
  while (piece.decoded < count) {
    const std::span<CoincidenceEvent> next = std::span(some).first(std::min(some.size(), count - piece.decoded));
    const std::size_t decoded = decode_events(rest, next, limits);
    if (decoded == 0) break;
    put(piece.first_event + piece.decoded, next.first(decoded));
    piece.decoded += decoded;
  }
  piece.end = bytes.size() - rest.size();
}

}  // namespace

std::size_t decode_events_in_parallel(std::span<const std::byte>& bytes, std::size_t most, const EventLimits& limits,
                                      const PutEvents& put) {
  std::vector<Piece> pieces;
  std::size_t numbers = 0;
  for (std::size_t begin = 0; begin < bytes.size() && numbers / 3 < most; begin += piece_bytes) {
    pieces.push_back(first_in_piece(bytes, begin, numbers));
    numbers += count_varints(bytes.subspan(begin, std::min(piece_bytes, bytes.size() - begin)));
  }
  const std::size_t all = std::min(numbers / 3, most);
  const auto first_event = [&](std::size_t p) {
    return p < pieces.size() ? std::min(pieces[p].first_event, all) : all;
  };
  tbb::parallel_for(std::size_t{0}, pieces.size(), [&](std::size_t p) {
    const std::size_t first = first_event(p), next = first_event(p + 1);
    if (first < next) decode(bytes, next - first, limits, put, pieces[p]);
  });
  std::size_t decoded = 0, end = 0;
  for (std::size_t p = 0; p < pieces.size() && decoded == first_event(p); ++p) {
    if (pieces[p].decoded == 0) continue;  // no event begins in it, or the first cannot be decoded
    decoded += pieces[p].decoded;
    end = pieces[p].end;
  }
  bytes = bytes.subspan(end);
  return decoded;
}

}  // namespace tofstream::petsird
