// What a plug-in's file says of the program that it was built for. TOFSTREAM_GADGET puts one record for each gadget
// into the section ".tofstream", where core/plugin/plugin_file.cpp reads it before any code of the plug-in runs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/version.hpp"
#include "core/plugin/headers.hpp"

namespace tofstream {

// Raised when what a plug-in may rely on changes and no public header does.
inline constexpr std::uint32_t abi_number = 4;

// Numbers and text in place only, so that it can be read from a file without relocation. The first two members never
// move.
struct PluginRecord {
  char magic[16] = {'t', 'o', 'f', 's', 't', 'r', 'e', 'a', 'm', ' ', 'g', 'a', 'd', 'g', 'e', 't'};
  std::uint32_t size = sizeof(PluginRecord);
  std::uint32_t abi = abi_number;
  std::uint64_t headers = TOFSTREAM_HEADERS;  // digest of those that it was built from
  char version[16] = {};                      // of tofstream
  char runtime[56] = {};                      // C++ library and the switches that change its types
  char compiler[56] = {};                     // for messages: several compilers agree on the rest
  char gadget[64] = {};                       // the gadget's name
};

namespace detail {

template <std::size_t N>
constexpr void put_text(char (&to)[N], std::string_view text) {
  for (std::size_t i = 0; i < N; ++i) to[i] = i < text.size() && i + 1 < N ? text[i] : '\0';
}

constexpr std::string_view runtime_abi() {
#if defined(_GLIBCXX_DEBUG)
  return "libstdc++ with _GLIBCXX_DEBUG";
#elif defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
  return "libstdc++ with its C++11 ABI";
#elif defined(__GLIBCXX__)
  return "libstdc++ with its old ABI";
#elif defined(_LIBCPP_VERSION)
  return "libc++";
#else
  return "another C++ library";
#endif
}

constexpr std::string_view compiler_name() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace detail

// The record of one gadget as this compilation sees the headers.
constexpr PluginRecord plugin_record(std::string_view gadget) {
  PluginRecord record;
  detail::put_text(record.version, header_version);
  detail::put_text(record.runtime, detail::runtime_abi());
  detail::put_text(record.compiler, detail::compiler_name());
  detail::put_text(record.gadget, gadget);
  return record;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
