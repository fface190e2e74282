// Fuzzes the order of updates that a killed run leaves: arbitrary bytes, or records after a correct first line, are
// either an order that is written and read back the same, or refused in one line.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "gadgets/io/update_log.hpp"

using namespace tofstream;

namespace {

const std::filesystem::path& rewritten() {
  static const auto file = std::filesystem::temp_directory_path() / ("fuzz-order-" + std::to_string(::getpid()));
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1)
    text = std::string("{\"format\":\"tofstream update order\",\"version\":") + (data[0] % 4 == 1 ? "1" : "2") + "}\n" +
           text;
  UpdateLog log;
  try {
    std::istringstream stream(text);
    log = read_update_log(stream, "order.jsonl");
  } catch (const std::runtime_error& refused) {
    const std::string why = refused.what();
    if (!why.starts_with("order.jsonl:") || why.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  {
    UpdateLogWriter writer(rewritten(), log.updates);
    if (log.has_ended) writer.end();
  }
  const UpdateLog again = read_update_log(rewritten());
  std::filesystem::remove(rewritten());
  if (again.updates != log.updates || again.has_ended != log.has_ended) std::abort();
  return 0;
}
// SPDX-License-Identifier: Apache-2.0
