// Text from outside (a client's pipeline, a file's strings, files' names) on its way to a terminal or a log: what a
// terminal would obey, or what would hide or forge text, is written out. The program's log passes through this by
// itself; whoever prints such text calls print_printable.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace tofstream {

// One line: control characters (ESC, newlines, tabs), marks that turn the direction of writing, invisible separators
// and bytes that are no UTF-8 become \x1b, \n, \t, \u202e, \xff. All other text, and what is printable already, stays
// as it is.
std::string printable(std::string_view text);

// The same for text of several lines: newlines stay.
std::string printable_lines(std::string_view text);

// An argument of print_printable: texts are made printable, all else stays as it is.
template <class T>
decltype(auto) printable_argument(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return printable(value);
  else
    return (value);
}

// fmt::print, in which each text among the arguments is made printable; the format itself is the program's own.
template <class... Args>
void print_printable(std::FILE* to, fmt::format_string<const Args&...> format, const Args&... args) {
  const auto print = [&](const auto&... safe) { fmt::vprint(to, format, fmt::make_format_args(safe...)); };
  print(printable_argument(args)...);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
