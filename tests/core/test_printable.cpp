// Text from outside, on its way to a terminal or a log.
#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "core/base/log.hpp"
#include "core/base/printable.hpp"
#include "core/value/value.hpp"

using namespace tofstream;

TEST_CASE("what a terminal would obey is written out, and all else stays") {
  CHECK(printable("a\x1b[2Jb\x07") == "a\\x1b[2Jb\\x07");
  CHECK(printable("one\ntwo\r\tthree\x7f") == "one\\ntwo\\r\\tthree\\x7f");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(printable("caf\u00e9 \u03b1 \u6f22 \U0001f600 \\ '\"") == "caf\u00e9 \u03b1 \u6f22 \U0001f600 \\ '\"");
  CHECK(printable("").empty());
}

TEST_CASE("marks that turn the direction of writing, or cannot be seen, are written out") {
  CHECK(printable("a\u202eb\u2066c\u2069\u200f\u061c") == "a\\u202eb\\u2066c\\u2069\\u200f\\u061c");
  CHECK(printable("\u009b2J\u2028\u2029\ufeff\u200b") == "\\u009b2J\\u2028\\u2029\\ufeff\\u200b");
  CHECK(printable("\U000e0041") == "\\U000e0041");
}

TEST_CASE("bytes that are no UTF-8 are written out, each by itself") {
  CHECK(printable("\x80\xff") == "\\x80\\xff");
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");           // ESC in an overlong form
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // half of a pair
  CHECK(printable("\xe2\x80") == "\\xe2\\x80");           // cut short
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
}

TEST_CASE("what is printable is not changed again, whatever it was") {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string once = printable(all);
  CHECK(printable(once) == once);
  CHECK(std::ranges::all_of(once, [](char c) { return c >= 0x20 && c < 0x7f; }));
}

TEST_CASE("text of several lines keeps its lines only") {
  CHECK(printable_lines("a\x1b\nb\tc\n") == "a\\x1b\nb\\tc\n");
}

TEST_CASE("lines of the log and problems of a document are one line, whoever their words come from") {
  CHECK(one_line("first\nsecond \x1b[1m\n") == "first second \\x1b[1m");
  CHECK(Problem{{}, "gadget 'a\nb\x1b': unknown"}.text() == "gadget 'a\\nb\\x1b': unknown");
}
// SPDX-License-Identifier: Apache-2.0
