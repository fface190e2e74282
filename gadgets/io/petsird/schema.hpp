// The types of a PETSIRD stream, taken from the schema JSON that every stream carries (yardl's
// binary format, version 1): aliases and generics are resolved, so that a type says how its bytes
// lie.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tofstream::petsird {

/// How one primitive value is written.
enum class Encoding { byte, varint, zigzag, float32, float64, complex32, complex64, text };

struct Type;

/// A named part of a type: a record's field, a choice's case (name: its tag).
struct Part {
  std::string name;
  const Type* type;
};

struct Symbol {
  std::string name;
  std::int64_t value;
};

/// One resolved type. Which members mean something depends on the kind.
struct Type {
  enum class Kind { primitive, enumeration, record, optional, choice, list, array, stream };
  static constexpr unsigned any_rank = ~0U;

  Kind kind = Kind::record;
  std::string name;                     ///< for messages
  Encoding encoding = Encoding::byte;   ///< of a primitive, and of an enumeration's base
  unsigned bits = 8;                    ///< width of an integer primitive: 8, 16, 32 or 64
  std::vector<Part> parts;              ///< fields, cases, or the one item type
  std::vector<Symbol> symbols;          ///< of an enumeration
  std::optional<std::uint64_t> length;  ///< items of a list or array whose size the schema fixes
  unsigned rank = 1;                    ///< of an array: dimensions written before the items

  std::optional<std::uint64_t> fixed_bytes;    ///< set if every value takes just that many raw bytes
  std::optional<std::uint64_t> fixed_varints;  ///< set if every value is just that many varints

  const Type& item() const { return *parts.front().type; }
};

/// The versions of the standard whose schema text is known; the wire of 0.8.0 to 0.9.1 is one.
enum class Version { v0_8_to_v0_9, v0_10, head, unknown };
std::string_view version_name(Version version);

/// A parsed schema. Moves, does not copy: types point at each other.
class Schema {
 public:
  /// Parses a stream's schema text. Throws Error, naming the type at fault, if it is not a schema.
  explicit Schema(std::string_view json_text);
  Schema(Schema&&) = default;
  Schema& operator=(Schema&&) = default;
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;
  ~Schema() = default;

  /// The steps of the protocol in order, as "header" and "timeBlocks".
  const std::vector<Part>& steps() const { return steps_; }
  /// SHA-256 of the text, 64 hexadecimal digits: what identifies a version of the standard.
  const std::string& sha256() const { return sha256_; }
  Version version() const { return version_; }
  /// True since v0.10: tables over pairs of module types hold type2 <= type1 only.
  bool has_triangular_tables() const { return has_triangular_tables_; }

 private:
  std::deque<Type> types_;
  std::vector<Part> steps_;
  std::string sha256_;
  Version version_ = Version::unknown;
  bool has_triangular_tables_ = false;
};

/// SHA-256 as 64 hexadecimal digits.
std::string sha256_hex(std::string_view text);

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
