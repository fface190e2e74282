// What DICOM attributes hold: see dicom_words.hpp.
#include "gadgets/io/dicom/dicom_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include <fmt/format.h>
#include <sodium.h>

namespace tofstream::formats {
namespace {

constexpr std::size_t longest_decimal = 16, longest_text = 64, longest_uid = 64;

std::size_t utf8_characters_in(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool is_uid_component(std::string_view part) {
  return !part.empty() && (part.size() == 1 || part.front() != '0') &&
         std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
}

std::string dicom_date(const std::chrono::year_month_day& day) {
  return fmt::format("{:04}{:02}{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

std::array<std::uint8_t, 16> digest_of_two(std::string_view first, std::string_view second) {
  crypto_generichash_state state;
  std::array<std::uint8_t, 16> digest{};
  crypto_generichash_init(&state, nullptr, 0, digest.size());
  const std::uint64_t length = first.size();  // so that the two are told apart wherever one ends
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&length), sizeof length);
  for (const std::string_view part : {first, second})
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  crypto_generichash_final(&state, digest.data(), digest.size());
  return digest;
}

// 128 bits as a decimal number, by long division.
std::string decimal_of_128_bits(std::array<std::uint8_t, 16> number) {
  std::string digits;
  while (std::ranges::any_of(number, [](std::uint8_t byte) { return byte != 0; })) {
    unsigned rest = 0;
    for (std::uint8_t& byte : number) {
      const unsigned value = rest * 256 + byte;
      byte = static_cast<std::uint8_t>(value / 10);
      rest = value % 10;
    }
    digits += static_cast<char>('0' + rest);
  }
  return {digits.rbegin(), digits.rend()};
}

}  // namespace

std::string decimal_string(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("DICOM has no number that is not finite");
  for (int digits = 15;; --digits) {
    std::string text = fmt::format("{:.{}g}", value == 0 ? 0.0 : value, digits);
    if (text.size() <= longest_decimal) return text;
  }
}

double as_written(float value) {
  const std::string text = fmt::format("{}", value);
  double written = 0;
  std::from_chars(text.data(), text.data() + text.size(), written);
  return written;
}

void require_dicom_text(std::string_view what, std::string_view text) {
  const bool is_clean =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && c != '\\'; });
  if (!is_clean) throw std::invalid_argument(fmt::format("{}: DICOM takes no backslash or control character", what));
  if (utf8_characters_in(text) > longest_text)
    throw std::invalid_argument(
        fmt::format("{}: {} characters, and DICOM holds {}: shorten it", what, utf8_characters_in(text), longest_text));
}

void require_uid(std::string_view what, std::string_view uid) {
  if (uid.empty()) return;
  bool is_uid = uid.size() <= longest_uid;
  for (std::string_view rest = uid; is_uid && !rest.empty();) {
    const std::size_t end = std::min(rest.find('.'), rest.size());
    is_uid = is_uid_component(rest.substr(0, end)) && end + 1 != rest.size();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!is_uid)
    throw std::invalid_argument(
        fmt::format("{}: {} is no UID: give numbers without leading zeros, joined by points, {} characters at most",
                    what, uid, longest_uid));
}

std::string read_dicom_date(std::string_view what, const std::string& text) {
  return text.empty() ? "" : dicom_date(read_date(what, text));
}

std::string date_of(DateTime time) {
  return dicom_date(std::chrono::floor<std::chrono::days>(time));
}

std::string time_of(DateTime time) {
  const std::chrono::hh_mm_ss of_day(time - std::chrono::floor<std::chrono::days>(time));
  std::string text = fmt::format("{:02}{:02}{:02}", of_day.hours().count(), of_day.minutes().count(),
                                 of_day.seconds().count());
  if (of_day.subseconds().count() != 0) text += fmt::format(".{:06}", of_day.subseconds().count());
  return text;
}

ContentUids::ContentUids() {
  if (sodium_init() < 0) throw std::runtime_error("libsodium does not start");
}

void ContentUids::add(std::string_view bytes) {
  const auto digest = digest_of_two(digest_, bytes);
  digest_.assign(digest.begin(), digest.end());
}

std::string ContentUids::uid(std::string_view purpose) const {
  auto uuid = digest_of_two(digest_, purpose);
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0fU) | 0x80U);  // version 8
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3fU) | 0x80U);  // the variant of RFC 9562
  return "2.25." + decimal_of_128_bits(uuid);
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
