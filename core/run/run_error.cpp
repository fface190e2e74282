#include "core/run/run_error.hpp"

#include <string>
#include <typeinfo>
#include <utility>

#include <boost/core/demangle.hpp>
#include <cxxabi.h>
#include <fmt/format.h>

#include "core/base/log.hpp"

namespace tofstream {
namespace {

std::string words_of(std::exception_ptr cause) {
  try {
    std::rethrow_exception(std::move(cause));
  } catch (const std::exception& error) {
    const std::string what = one_line(error.what());
    return what.empty() ? boost::core::demangle(typeid(error).name()) : what;
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return "an exception that is no std::exception: " + (type ? boost::core::demangle(type->name()) : "unknown");
  }
}

}  // namespace

RunError error_of(const Node& node, std::exception_ptr cause) {
  return {node.name(), words_of(std::move(cause)), node.gadget->where, std::nullopt};
}

RunError spill_error(const Edge& edge, const std::exception& cause) {
  return {
      edge.reader->name(),
      fmt::format("the edge {} cannot keep messages on disk: {}: set spill_folder of its 'edge' to a larger disk, or "
                  "disk_bytes to what this one has room for, from which on the writer is held back",
                  edge.description().name, one_line(cause.what())),
      edge.description().where, std::nullopt};
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
