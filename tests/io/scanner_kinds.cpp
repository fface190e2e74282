// Scanner files of several kinds, which are told apart by their keys.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "gadgets/io/yaml/scanner_file.hpp"
#include "gadgets/ring/io/ring_scanner_yaml.hpp"
#include "gadgets/strip/io/strip_scanner_yaml.hpp"
#include "kernels/strip/strip_scanner.hpp"

using namespace tofstream;

TEST_CASE("two strips are a scanner's file of their own") {
  const auto strips = formats::read_strip_scanner("share/scanners/jpet_strip.yaml");
  CHECK(strips->name == "jpet_strip");
  CHECK(strip_geometry(*strips) == StripGeometry{130, 300});
  CHECK(formats::scanner_kind_of("share/scanners/jpet_strip.yaml").key == "strips");
  CHECK(formats::scanner_kind_of("share/scanners/demo_ring.yaml").key == "crystals");
  CHECK_THROWS_WITH(
      formats::read_ring_scanner("share/scanners/jpet_strip.yaml"),
      doctest::Contains("jpet_strip.yaml:5:9: this is a pair of strips, where a ring of crystals is wanted"));
  CHECK_THROWS_WITH(formats::read_strip_scanner("share/scanners/demo_ring.yaml"),
                    doctest::Contains("this is a ring of crystals, where a pair of strips is wanted"));
  CHECK_THROWS_WITH(formats::parse_strip_scanner("name: a\nstrips: {radius_mm: 0, length_mm: 3}", "a.yaml"),
                    doctest::Contains("a.yaml:2:21: scanner.strips.radius_mm must be in [1, 10000] mm, not 0"));
  CHECK_THROWS_WITH(
      formats::parse_strip_scanner("name: a\nstrips: {radius_mm: 9, length_mm: 3, sigma: 1}", "a.yaml"),
      doctest::Contains("a.yaml:2:38: scanner.strips: unknown key 'sigma'; it knows radius_mm, length_mm"));
}

TEST_CASE("a file that is of no kind of scanner is told which kinds there are, and no key is taken twice") {
  const auto file = std::filesystem::temp_directory_path() / "tofstream_no_kind.yaml";
  std::ofstream(file) << "name: a\nplates: {}\n";
  CHECK_THROWS_WITH(formats::scanner_kind_of(file),
                    doctest::Contains(".yaml:1:1: a scanner has one of the keys 'camera' (a gamma camera), "
                                      "'crystals' (a ring of crystals), 'strips' (a pair of strips)"));
  std::ofstream(file) << "name: a\nstrip: {}\n";
  CHECK_THROWS_WITH(formats::scanner_kind_of(file), doctest::Contains(".yaml:2:1: a scanner has one of the keys"));
  CHECK_THROWS_WITH(formats::scanner_kind_of(file), doctest::Contains(", not 'strip', did you mean 'strips'?"));
  std::filesystem::remove(file);
  const KindTable<ScannerKind>& kinds = table_of<ScannerKind>();
  CHECK(kinds.problem_of(kinds.at("strips")) == "two kinds of scanners have the key 'strips': rename one");
  CHECK(kinds.problem_of({.key = "plates"}) ==
        "the kind of scanner 'plates' lacks its key, or both its header and its check");
}
// SPDX-License-Identifier: Apache-2.0
