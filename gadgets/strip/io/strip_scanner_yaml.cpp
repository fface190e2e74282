// Two strips from YAML: see strip_scanner_yaml.hpp.
#include "gadgets/strip/io/strip_scanner_yaml.hpp"

#include "gadgets/io/yaml/scanner_file.hpp"
#include "gadgets/io/yaml/yaml_object.hpp"
#include "kernels/strip/strip_scanner.hpp"

namespace tofstream::formats {

std::shared_ptr<const Scanner> parse_strip_scanner(const std::string& text, const std::string& file) {
  constexpr double longest_mm = 1e4;
  const YAML::Node node = parse_yaml(text, file);
  refuse_other_kinds(node, file, "strips");
  YamlObject root(node, file, "a scanner of strips");
  const std::string name = root.text("name");
  root.text("description", "");
  YamlObject strips = root.object("strips");
  const StripGeometry geometry{.radius_mm = static_cast<float>(strips.number("radius_mm", 1, longest_mm)),
                               .length_mm = static_cast<float>(strips.number("length_mm", 1, longest_mm))};
  strips.finish();
  root.finish();
  return make_strip_scanner(name, geometry);
}

std::shared_ptr<const Scanner> read_strip_scanner(const std::filesystem::path& file) {
  return parse_strip_scanner(read_text(file), file.string());
}

}  // namespace tofstream::formats
