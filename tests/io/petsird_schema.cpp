// The schema: our text against the standard's, and the types that parsing gives.
#include "gadgets/io/petsird/error.hpp"
#include "gadgets/io/petsird/schema.hpp"
#include "gadgets/io/petsird/standard_schema.hpp"

namespace {

using namespace tofstream::petsird;

std::string with_type(const std::string& type, const std::string& definitions = "") {
  return R"({"protocol":{"name":"P","sequence":[{"name":"a","type":)" + type + R"(}]},"types":[)" + definitions + "]}";
}

const Type& first_step(const Schema& schema) {
  return *schema.steps().front().type;
}

}  // namespace

TEST_CASE("PETSIRD schema: our texts of HEAD and v0.10 are the standard's, byte for byte") {
  const std::string head = standard_schema_text(Version::head);
  CHECK(head.size() == 12926);
  CHECK(sha256_hex(head) == "f0d2313d714872eab064fb1bf29a669e2750aa11be2040bddc9fd2adf9a8e9b9");
  const std::string v0_10 = standard_schema_text(Version::v0_10);
  CHECK(v0_10.size() == 12884);
  CHECK(sha256_hex(v0_10) == "9783b302ea8af931d488f6464d3b7f21f83bea878148a07e8ec6308cf18f0ad2");
  CHECK(Schema(head).version() == Version::head);
  CHECK(Schema(v0_10).version() == Version::v0_10);
  CHECK(Schema(head).has_triangular_tables());
  CHECK_THROWS_AS(standard_schema_text(Version::v0_8_to_v0_9), Error);
}

TEST_CASE("PETSIRD schema: SHA-256 of the standard's test message") {
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("PETSIRD schema: sizes of types that are fixed") {
  const Schema head(standard_schema_text(Version::head));
  const Type& header = first_step(head);
  const Type& scanner = *header.parts[0].type;
  const Type& modules = *scanner.parts[1].type->parts[0].type;
  const Type& elements = *modules.item().parts[0].type->parts[0].type;
  CHECK(elements.parts[0].type->parts[0].type->fixed_bytes == 96U);  // eight corners
  CHECK(elements.parts[1].type->item().fixed_bytes == 48U);          // a transform
  const Type& events = head.steps()[1].type->item().parts[0].type->parts[2].type->item().item();
  CHECK(events.item().fixed_varints == 3U);
  CHECK_FALSE(events.fixed_varints);
  CHECK_FALSE(header.fixed_bytes);
}

TEST_CASE("PETSIRD schema: generics, unions, arrays") {
  const std::string pair =
      R"({"name":"Pair","typeParameters":["A"],"fields":[{"name":"x","type":"A"},{"name":"y","type":{"vector":{"items":"A","length":3}}}]})";
  const Schema of_float(with_type(R"({"name":"N.Pair","typeArguments":["float64"]})", pair));
  CHECK(first_step(of_float).fixed_bytes == 32U);
  const Schema optional(with_type(R"([null,"int32"])"));
  CHECK(first_step(optional).kind == Type::Kind::optional);
  const Schema choice(with_type(R"([null,"int32","string"])"));
  CHECK(first_step(choice).kind == Type::Kind::choice);
  CHECK(first_step(choice).parts.size() == 3);
  CHECK(first_step(choice).parts[0].type->fixed_bytes == 0U);
  const Schema any(with_type(R"({"array":{"items":"uint64"}})"));
  CHECK(first_step(any).rank == Type::any_rank);
  const Schema ranked(with_type(R"({"array":{"items":"uint64","dimensions":[{"name":"a"},{"name":"b"}]}})"));
  CHECK(first_step(ranked).rank == 2);
  CHECK_FALSE(first_step(ranked).length);
  const Schema fixed(with_type(R"({"array":{"items":"float32","dimensions":[{"length":3},{"length":4}]}})"));
  CHECK(first_step(fixed).length == 12U);
  const Schema symbols(with_type(R"("E")", R"({"name":"E","base":"uint8","values":[{"symbol":"one","value":1}]})"));
  CHECK(first_step(symbols).fixed_bytes == 1U);
}

TEST_CASE("PETSIRD schema: what is not a schema is refused with a reason") {
  const auto message = [](const std::string& text) -> std::string {
    try {
      const Schema schema(text);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  const auto contains = [&](const std::string& text, const char* part) {
    const std::string what = message(text);
    CAPTURE(what);
    CHECK(what.find(part) != std::string::npos);
    CHECK(what.find('\n') == std::string::npos);
  };
  contains("{", "not the JSON expected");
  contains("[]", "not the JSON expected");
  contains(R"({"protocol":{"sequence":[]}})", "not the JSON expected");
  contains(with_type(R"("Missing")"), "type Missing is not defined");
  contains(with_type(R"("A")", R"({"name":"A","fields":[{"name":"a","type":"A"}]})"), "type A contains itself");
  contains(with_type(R"("A")", R"({"name":"A","fields":[{"name":"a","type":"int32"},{"name":"a","type":"int32"}]})"),
           "two fields of one name");
  contains(with_type(R"({"name":"A","typeArguments":["int32","int32"]})",
                     R"({"name":"A","typeParameters":["T"],"type":"T"})"),
           "takes 1 arguments");
  contains(with_type(
               R"({"name":"G","typeArguments":["int32"]})",
               R"({"name":"G","typeParameters":["T"],"type":{"name":"G","typeArguments":[{"vector":{"items":"T"}}]}})"),
           "nested deeper than 64");
  contains(with_type(R"({"vector":{"items":{"vector":{"items":"int32","length":4294967296}},"length":4294967296}})"),
           "beyond 2^32");
  contains(with_type(R"({"map":{}})"), "is unknown");
  contains(with_type("[]"), "a union has no cases");
}
// SPDX-License-Identifier: Apache-2.0
