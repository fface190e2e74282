// Parses the schema JSON with nlohmann and resolves aliases and generics into plain types.
// The grammar is yardl's: records, enums, aliases; vector, array, stream; unions as JSON lists.
#include "gadgets/io/petsird/schema.hpp"

#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sodium.h>

#include "gadgets/io/petsird/error.hpp"

namespace tofstream::petsird {
namespace {

using nlohmann::json;

constexpr int deepest_nesting = 64;
constexpr std::size_t most_types = 10'000;
constexpr std::uint64_t largest_fixed_size = std::uint64_t{1} << 32;

struct Primitive {
  std::string_view name;
  Encoding encoding;
  unsigned bits;
};

constexpr std::array primitives{
    Primitive{"bool", Encoding::byte, 8},
    Primitive{"int8", Encoding::byte, 8},
    Primitive{"uint8", Encoding::byte, 8},
    Primitive{"int16", Encoding::zigzag, 16},
    Primitive{"uint16", Encoding::varint, 16},
    Primitive{"int32", Encoding::zigzag, 32},
    Primitive{"uint32", Encoding::varint, 32},
    Primitive{"int64", Encoding::zigzag, 64},
    Primitive{"uint64", Encoding::varint, 64},
    Primitive{"size", Encoding::varint, 64},
    Primitive{"float32", Encoding::float32, 32},
    Primitive{"float64", Encoding::float64, 64},
    Primitive{"complexfloat32", Encoding::complex32, 64},
    Primitive{"complexfloat64", Encoding::complex64, 128},
    Primitive{"string", Encoding::text, 0},
    Primitive{"date", Encoding::zigzag, 64},
    Primitive{"time", Encoding::zigzag, 64},
    Primitive{"datetime", Encoding::zigzag, 64},
};

[[noreturn]] void fail(const std::string& what) {
  throw Error(fmt::format("PETSIRD schema: {}; the stream is damaged or not written by yardl, get a fresh copy", what));
}

using Size = std::optional<std::uint64_t>;

Size times(Size size, std::uint64_t count) {
  if (!size || *size == 0 || count == 0) return size ? Size{0} : size;
  if (count > largest_fixed_size / *size) fail("a fixed size is beyond 2^32");
  return *size * count;
}

Size sum(const std::vector<Part>& parts, Size Type::*size) {
  std::uint64_t total = 0;
  for (const Part& part : parts) {
    if (!(part.type->*size)) return {};
    total += *(part.type->*size);
  }
  if (total > largest_fixed_size) fail("a fixed size is beyond 2^32");
  return total;
}

Size raw_bytes(Encoding encoding) {
  switch (encoding) {
    case Encoding::byte:
      return 1;
    case Encoding::float32:
      return 4;
    case Encoding::float64:
    case Encoding::complex32:
      return 8;
    case Encoding::complex64:
      return 16;
    default:
      return {};
  }
}

void measure(Type& type) {
  switch (type.kind) {
    case Type::Kind::primitive:
    case Type::Kind::enumeration:
      type.fixed_bytes = raw_bytes(type.encoding);
      if (type.encoding == Encoding::varint || type.encoding == Encoding::zigzag) {
        type.fixed_varints = 1;
      }
      return;
    case Type::Kind::record:
      type.fixed_bytes = sum(type.parts, &Type::fixed_bytes);
      type.fixed_varints = sum(type.parts, &Type::fixed_varints);
      return;
    case Type::Kind::list:
    case Type::Kind::array:
      if (type.length) {
        type.fixed_bytes = *type.length == 0 ? Size{0} : times(type.item().fixed_bytes, *type.length);
        type.fixed_varints = *type.length == 0 ? Size{0} : times(type.item().fixed_varints, *type.length);
      }
      return;
    default:
      return;
  }
}

std::string without_namespace(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

/// Turns type expressions of the JSON into types, each named type once for each set of arguments.
class Resolver {
 public:
  Resolver(const json& schema, std::deque<Type>& types) : types_(types) {
    for (const json& definition : schema.at("types")) {
      definitions_.emplace(definition.at("name").get<std::string>(), &definition);
    }
  }

  const Type* resolve(const json& expression) { return resolve(expression, {}); }
  bool defines(const std::string& name) const { return definitions_.contains(name); }

 private:
  using Arguments = std::map<std::string, const Type*>;

  const Type* add(Type type) {
    if (types_.size() >= most_types) fail("more than 10,000 types");
    measure(type);
    return &types_.emplace_back(std::move(type));
  }

  const Type* resolve(const json& expression, const Arguments& arguments) {
    if (++depth_ > deepest_nesting) fail("types are nested deeper than 64");
    const Type* type = expression.is_string()  ? simple(expression.get<std::string>(), arguments)
                       : expression.is_array() ? choice(expression, arguments)
                                               : composite(expression, arguments);
    --depth_;
    return type;
  }

  const Type* simple(const std::string& name, const Arguments& arguments) {
    if (const auto argument = arguments.find(name); argument != arguments.end()) {
      return argument->second;
    }
    for (const Primitive& primitive : primitives) {
      if (primitive.name != name) continue;
      const Type*& known = named_[{name, {}}];
      if (known == nullptr) {
        known =
            add({.kind = Type::Kind::primitive, .name = name, .encoding = primitive.encoding, .bits = primitive.bits});
      }
      return known;
    }
    return named(without_namespace(name), {});
  }

  const Type* composite(const json& expression, const Arguments& arguments) {
    if (expression.contains("vector")) {
      const json& vector = expression.at("vector");
      Type type{.kind = Type::Kind::list, .name = "vector", .parts = {item(vector, arguments)}};
      if (vector.contains("length")) type.length = vector.at("length").get<std::uint64_t>();
      return add(std::move(type));
    }
    if (expression.contains("array")) return array(expression.at("array"), arguments);
    if (expression.contains("stream")) {
      return add({.kind = Type::Kind::stream, .name = "stream", .parts = {item(expression.at("stream"), arguments)}});
    }
    if (!expression.contains("name")) fail(fmt::format("type {} is unknown", expression.dump()));
    std::vector<const Type*> values;
    if (expression.contains("typeArguments")) {
      for (const json& argument : expression.at("typeArguments")) {
        values.push_back(resolve(argument, arguments));
      }
    }
    return named(without_namespace(expression.at("name").get<std::string>()), values);
  }

  Part item(const json& container, const Arguments& arguments) {
    return {"", resolve(container.at("items"), arguments)};
  }

  const Type* array(const json& expression, const Arguments& arguments) {
    Type type{.kind = Type::Kind::array, .name = "array", .parts = {item(expression, arguments)}};
    const json dimensions = expression.value("dimensions", json());
    if (dimensions.is_null()) {
      type.rank = Type::any_rank;
    } else if (dimensions.is_number_unsigned()) {
      type.rank = dimensions.get<unsigned>();
    } else {
      type.rank = static_cast<unsigned>(dimensions.size());
      Size count = 1;
      for (const json& dimension : dimensions) {
        if (!dimension.is_object() || !dimension.contains("length")) {
          count.reset();
          break;
        }
        count = times(count, dimension.at("length").get<std::uint64_t>());
      }
      type.length = count;
    }
    if (type.rank != Type::any_rank && type.rank > 32) fail("an array has more than 32 dimensions");
    return add(std::move(type));
  }

  const Type* choice(const json& cases, const Arguments& arguments) {
    Type type{.kind = Type::Kind::choice, .name = "union"};
    for (const json& one : cases) {
      const bool tagged = one.is_object() && one.contains("tag");
      const json& expression = tagged ? one.at("type") : one;
      const std::string tag = tagged            ? one.at("tag").get<std::string>()
                              : one.is_string() ? without_namespace(one.get<std::string>())
                                                : std::string();
      const Type* resolved = expression.is_null() ? add({.name = "null"}) : resolve(expression, arguments);
      type.parts.push_back({tag, resolved});
    }
    if (type.parts.empty()) fail("a union has no cases");
    if (type.parts.size() == 2 && cases.front().is_null()) {
      type.kind = Type::Kind::optional;
      type.name = "optional";
      type.parts.erase(type.parts.begin());
    }
    return add(std::move(type));
  }

  const Type* named(const std::string& name, const std::vector<const Type*>& values) {
    const auto [known, added] = named_.try_emplace({name, values}, nullptr);
    if (!added) {
      if (known->second == nullptr) fail(fmt::format("type {} contains itself", name));
      return known->second;
    }
    const auto definition = definitions_.find(name);
    if (definition == definitions_.end()) fail(fmt::format("type {} is not defined", name));
    return known->second = define(*definition->second, name, values);
  }

  const Type* define(const json& definition, const std::string& name, const std::vector<const Type*>& values) {
    Arguments arguments;
    const json parameters = definition.value("typeParameters", json::array());
    if (parameters.size() != values.size()) {
      fail(fmt::format("type {} takes {} arguments", name, parameters.size()));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      arguments.emplace(parameters[i].get<std::string>(), values[i]);
    }
    if (definition.contains("fields")) {
      Type type{.kind = Type::Kind::record, .name = name};
      std::set<std::string> names;
      for (const json& field : definition.at("fields")) {
        if (!names.insert(field.at("name").get<std::string>()).second) {
          fail(fmt::format("type {} has two fields of one name", name));
        }
        type.parts.push_back({field.at("name").get<std::string>(), resolve(field.at("type"), arguments)});
      }
      return add(std::move(type));
    }
    if (definition.contains("values")) return enumeration(definition, name);
    return resolve(definition.at("type"), arguments);
  }

  const Type* enumeration(const json& definition, const std::string& name) {
    const Type* base = resolve(definition.value("base", json("int32")), {});
    Type type{.kind = Type::Kind::enumeration, .name = name, .encoding = base->encoding, .bits = base->bits};
    for (const json& value : definition.at("values")) {
      type.symbols.push_back({value.at("symbol").get<std::string>(), value.at("value").get<std::int64_t>()});
    }
    return add(std::move(type));
  }

  std::deque<Type>& types_;
  std::map<std::string, const json*> definitions_;
  std::map<std::pair<std::string, std::vector<const Type*>>, const Type*> named_;
  int depth_ = 0;
};

Version version_of(std::string_view sha256) {
  if (sha256 == "f0d2313d714872eab064fb1bf29a669e2750aa11be2040bddc9fd2adf9a8e9b9") {
    return Version::head;
  }
  if (sha256 == "9783b302ea8af931d488f6464d3b7f21f83bea878148a07e8ec6308cf18f0ad2") {
    return Version::v0_10;
  }
  if (sha256 == "a4f2077529e932bb5f30b8cdc94842b9b63597a450a30381a99bd392d0414676") {
    return Version::v0_8_to_v0_9;
  }
  return Version::unknown;
}

}  // namespace

std::string_view version_name(Version version) {
  switch (version) {
    case Version::v0_8_to_v0_9:
      return "v0.8-v0.9";
    case Version::v0_10:
      return "v0.10.0";
    case Version::head:
      return "HEAD (v0.10.0 with collimatorType)";
    case Version::unknown:
      break;
  }
  return "unknown";
}

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

Schema::Schema(std::string_view json_text) : sha256_(sha256_hex(json_text)), version_(version_of(sha256_)) {
  try {
    const json parsed = json::parse(json_text);
    Resolver resolver(parsed, types_);
    for (const json& step : parsed.at("protocol").at("sequence")) {
      steps_.push_back({step.at("name").get<std::string>(), resolver.resolve(step.at("type"))});
    }
    has_triangular_tables_ = resolver.defines("LowerTriangularMatrix");
  } catch (const json::parse_error& error) {
    fail(fmt::format("not the JSON expected from its byte {} on", error.byte));
  } catch (const json::exception& error) {
    fail(fmt::format("not the JSON expected ({})", error.what()));
  }
}

}  // namespace tofstream::petsird
// SPDX-License-Identifier: Apache-2.0
