// Two strips from YAML: see strip_scanner_yaml.hpp.
#include "gadgets/strip/io/strip_scanner_yaml.hpp"

#include "gadgets/io/yaml/described_file.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"
#include "kernels/strip/strip_scanner.hpp"

namespace tofstream::formats {
namespace {

struct StripFile {
  struct Strips {
    float radius_mm = 0, length_mm = 0;
    static constexpr auto params = describe(
        param<&Strips::radius_mm>("radius_mm", range(1, 1e4), unit("mm"), required, "From the axis to each strip"),
        param<&Strips::length_mm>("length_mm", range(1, 1e4), unit("mm"), required, "The length of each strip"));
  };
  std::string name, description;
  Strips strips;
  static constexpr auto params = describe(param<&StripFile::name>("name", required, "What the scanner is called"),
                                          param<&StripFile::description>("description", "For people"),
                                          param<&StripFile::strips>("strips", required, "Where the two strips are"));
};

std::shared_ptr<const Scanner> strip_scanner_of(const Value& document) {
  refuse_other_kinds(document, "strips");
  const auto file = described<StripFile>(document, "scanner");
  return make_strip_scanner(file.name, {.radius_mm = file.strips.radius_mm, .length_mm = file.strips.length_mm});
}

}  // namespace

std::shared_ptr<const Scanner> parse_strip_scanner(const std::string& text, const std::string& file) {
  return strip_scanner_of(parse_text(text, file));
}

std::shared_ptr<const Scanner> read_strip_scanner(const std::filesystem::path& file) {
  return strip_scanner_of(read_document(file));
}

}  // namespace tofstream::formats
// SPDX-License-Identifier: Apache-2.0
