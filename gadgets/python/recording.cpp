// The scanner of a source in Python: see recording.hpp.
#include "gadgets/python/recording.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/petsird/to_scanner.hpp"
#include "gadgets/io/shared_files.hpp"
#include "gadgets/io/yaml/scanner_file.hpp"

namespace tofstream {

namespace {

// One uint32 a pair: 1 where [module1 * modules + module2] are in coincidence.
PythonJson pairs_of(const Scanner& scanner, SharedArena& arena, ExchangeMemory& memory) {
  const ModuleType& type = scanner.types.front();
  const std::size_t pairs = std::size_t{type.modules} * type.modules;
  memory.pairs = arena.allocate(pairs * sizeof(std::uint32_t));
  auto* counts = reinterpret_cast<std::uint32_t*>(memory.pairs->data);
  for (std::uint32_t one = 0; one < type.modules; ++one)
    for (std::uint32_t two = 0; two < type.modules; ++two)
      *counts++ = scanner.in_coincidence(one * type.elements, two * type.elements) ? 1 : 0;
  return {{"offset", memory.pairs->offset}, {"count", pairs}};
}

}  // namespace

PythonJson take_scanner(const std::string& name, SharedArena& arena, ExchangeMemory& memory) {
  const auto file = find_shared("scanners", name);
  const auto scanner = petsird::to_scanner(formats::petsird_header_of(file, 0).header.scanner);
  if (scanner->types.size() != 1)
    throw std::runtime_error(fmt::format("{}: has {} kinds of modules, and a source in Python takes a scanner of one",
                                         file.string(), scanner->types.size()));
  const ModuleType& type = scanner->types.front();
  PythonJson told = {{"name", scanner->name},
                     {"modules", type.modules},
                     {"elements", type.elements},
                     {"size_mm", {type.element_size_mm.x, type.element_size_mm.y, type.element_size_mm.z}}};
  if (!scanner->tof.empty()) {
    memory.tof = scanner->tof.front();
    told["tof"] = {
        {"sigma_mm", memory.tof.sigma_mm}, {"bin_mm", memory.tof.bin_width_mm}, {"window_mm", memory.tof.window_mm}};
  }
  told["positions"] = positions_of(*scanner->detectors, arena, memory);
  told["pairs"] = pairs_of(*scanner, arena, memory);
  memory.detectors = scanner->detectors;
  memory.scanner = scanner;
  auto quantity = std::make_shared<Quantity>();
  quantity->scale = "the events are a script's, and it does not say what their scale is";
  memory.events_quantity = std::move(quantity);
  return told;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
