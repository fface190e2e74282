// The text of Interfile headers: how keys are written by other programs, and what is refused with its line.
#include <filesystem>
#include <fstream>

#include "core/base/private_folder.hpp"
#include "gadgets/io/interfile/header.hpp"

using namespace tofstream;
using namespace tofstream::formats;

namespace {

InterfileHeader parsed_header(const std::string& lines) {
  return parse_interfile("!INTERFILE :=\n" + lines, "scan.hs");
}

void refused_header(const std::string& lines, const std::string& said) {
  CAPTURE(lines);
  CHECK_THROWS_WITH_AS(parsed_header(lines), said.c_str(), std::runtime_error);
}

}  // namespace

TEST_CASE("Interfile keys are the same in any case, with any blanks and with or without an exclamation mark") {
  const auto header = parsed_header(
      "!Number  Of Projections:=120\r\n"
      "name of data file := my file.s\n"
      "\t!scaling factor (mm/pixel) [2] := +3.32\n"
      "!study duration (elapsed) sec : = 320\n"
      "matrix size[1]:=128 ; pixels\n");
  CHECK(header.number(*header.find("number of projections")) == 120);
  CHECK(header.find("!name of data file")->value == "my file.s");
  CHECK(header.number(*header.find("scaling factor (mm/pixel)", 2)) == 3.32);
  CHECK(header.find("scaling factor (mm/pixel)", 1) == nullptr);
  CHECK(header.find("studyduration(elapsed)sec")->line == 5);
  CHECK(header.whole(*header.find("matrix size", 1), 1, 4096) == 128);
  CHECK(header.find("start angle") == nullptr);
}

TEST_CASE("a key without an index is that of index 1") {
  const auto header = parsed_header("energy window lower level := 126\n");
  CHECK(header.find("energy window lower level", 1)->value == "126");
  CHECK(header.find("energy window lower level", 2) == nullptr);
}

TEST_CASE("lists have braces or not, commas or blanks, and may go on in the next lines") {
  const auto header = parsed_header(
      "radii := {150, 151.5 ,\n 152}\n"
      "plain := 1 2,3\n"
      "long := 4 \\\n 5\n"
      "none := {}\n");
  CHECK(header.numbers(*header.find("radii")) == std::vector<double>{150, 151.5, 152});
  CHECK(header.numbers(*header.find("plain")) == std::vector<double>{1, 2, 3});
  CHECK(header.numbers(*header.find("long")) == std::vector<double>{4, 5});
  CHECK(header.numbers(*header.find("none")).empty());
  CHECK(header.find("long")->line == 5);
}

TEST_CASE("comments with a key are kept apart, since GATE and SIMIND hide keys in them") {
  const auto header = parsed_header(
      ";GATE GEOMETRY :=\n;head x translation (cm) := 28.5\n;# Non-Uniform Orbit File := output.cor\n; a remark\n"
      "head x translation (cm) := 3\n");
  CHECK(header.comment("head x translation (cm)")->value == "28.5");
  CHECK(header.comment("non-uniform orbit file")->value == "output.cor");
  CHECK(header.find("head x translation (cm)")->value == "3");
}

TEST_CASE("sections that are repeated for each head keep their order, and nothing is read after the end") {
  const auto header =
      parsed_header("start angle := 0\nstart angle := 180\n!END OF INTERFILE :=\nstart angle := 5\nrubbish \x01\n");
  const auto angles = header.all("start angle");
  REQUIRE(angles.size() == 2);
  CHECK(angles[1]->value == "180");
}

TEST_CASE("what is wrong with an Interfile header is said with its line and what to do") {
  refused_header("matrix size\n", "scan.hs:2: 'matrix size' is no 'key := value': a comment begins with ';'");
  refused_header("\nmatrix size [x] := 1\n", "scan.hs:3: 'matrix size [x]' needs a whole number between its brackets");
  refused_header("radii := {1, 2\nstart angle := 3\n",
                 "scan.hs:2: the list that begins here has no end: close it by '}'");
  refused_header("radii := {1, 2\n", "scan.hs:2: the list that begins here has no end: close it by '}'");
  refused_header("a\x1b[1m\n", "scan.hs:2: 'a\\x1b[1m' is no 'key := value': a comment begins with ';'");
  CHECK_THROWS_WITH_AS(parse_interfile("hello\n", "x"),
                       "x:1: this is no Interfile header: its first line is '!INTERFILE :='", std::runtime_error);
  CHECK_THROWS_WITH_AS(parsed_header(std::string(largest_interfile_header, '\n')),
                       "scan.hs: a header of more than 1048576 bytes: is it one?", std::runtime_error);
}

TEST_CASE("values that are no numbers are refused with their line") {
  const auto header = parsed_header("a := nan\nb := 1.5\nc := 7x\nd := {1, two}\ne := {1} 2\nf := 1e999\ng :=\n");
  const auto fails = [&](auto&& call, const std::string& said) {
    CHECK_THROWS_WITH_AS(call(), said.c_str(), std::runtime_error);
  };
  fails([&] { (void)header.number(*header.find("a")); }, "scan.hs:2: 'a' must be a finite number, not 'nan'");
  fails([&] { (void)header.whole(*header.find("b"), 1, 9); },
        "scan.hs:3: 'b' must be a whole number in [1, 9], not '1.5'");
  fails([&] { (void)header.number(*header.find("c")); }, "scan.hs:4: 'c' must be a finite number, not '7x'");
  fails([&] { (void)header.numbers(*header.find("d")); }, "scan.hs:5: number 2 of 'd' must be finite, not 'two'");
  fails([&] { (void)header.numbers(*header.find("e")); }, "scan.hs:6: text follows the list's '}': remove it");
  fails([&] { (void)header.number(*header.find("f")); }, "scan.hs:7: 'f' must be a finite number, not '1e999'");
  fails([&] { (void)header.number(*header.find("g")); }, "scan.hs:8: 'g' must be a finite number, not ''");
}

TEST_CASE("the header of a file that data follow is read without them") {
  const PrivateTemporaryFolder folder;
  const auto path = folder.path() / "whole.hs";
  std::ofstream file(path, std::ios::binary);
  file << "!INTERFILE :=\nmatrix size [1] := 4\n!END OF INTERFILE :=\n" << std::string(100, '\xff');
  file.close();
  CHECK(read_interfile(path).find("matrix size", 1)->value == "4");
}
// SPDX-License-Identifier: Apache-2.0
