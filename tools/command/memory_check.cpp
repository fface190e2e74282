// Memory before a run: see memory_check.hpp.
#include "tools/command/memory_check.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/sysinfo.h>

#include "core/base/printable.hpp"
#include "kernels/memory/devices.hpp"
#include "kernels/memory/memory.hpp"
#include "tools/command/errors.hpp"
#include "tools/command/running.hpp"

namespace tofstream::command {

namespace {

using ImageSize = std::array<int, 3>;

// The first that a gadget has: mostly all have that of the pipeline's key `image`.
std::optional<ImageSize> image_size(const Pipeline& pipeline) {
  for (const PipelineGadget& gadget : pipeline.gadgets) {
    const Value* const image = gadget.resolved.find("image");
    const Value* const size = image ? image->find("size") : nullptr;
    if (!size || size->items.size() != 3) continue;
    ImageSize found{};
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::string& text = size->items[i].text;
      std::from_chars(text.data(), text.data() + text.size(), found[i]);
    }
    return found;
  }
  return std::nullopt;
}

// The same shape, as nearly as whole voxels let it.
ImageSize scaled(ImageSize size, int longest) {
  const int from = std::ranges::max(size);
  for (int& n : size) n = std::max(1, static_cast<int>(std::floor(static_cast<double>(n) * longest / from)));
  return size;
}

std::string setting(const ImageSize& size) {
  return fmt::format("image.size=[{}]", fmt::join(size, ","));
}

bool fits(const std::string& name, PipelineOptions options, const ImageSize& size, const MachineMemory& machine,
          EstimateOf& estimate_of) {
  options.sets.push_back(setting(size));
  return compare_memory(estimate_of(load_quietly(name, options)), machine).errors.empty();
}

// Empty where even one voxel is too much, or where the size cannot be set for the whole pipeline.
std::string size_that_fits(const std::string& name, const PipelineOptions& options, const Pipeline& pipeline,
                           const MachineMemory& machine, EstimateOf& estimate_of) try {
  const std::optional<ImageSize> size = image_size(pipeline);
  if (!size) return "";
  int most = 0;
  for (int too_large = std::ranges::max(*size); most + 1 < too_large;) {
    const int middle = most + (too_large - most) / 2;
    (fits(name, options, scaled(*size, middle), machine, estimate_of) ? most : too_large) = middle;
  }
  return most == 0 ? "" : setting(scaled(*size, most));
} catch (const InputError&) {
  return "";
}

// All that the machine has, whoever uses it now: the host's memory with what it may swap out.
MachineMemory whole_memory(bool with_device) {
  MachineMemory machine{host_memory_bytes(), std::nullopt};
  struct sysinfo system {};
  if (::sysinfo(&system) == 0)
    machine.host_bytes = memory_sum(machine.host_bytes, memory_product(system.totalswap, system.mem_unit));
  if (with_device && why_no_cuda().empty()) machine.device_bytes = all_device_bytes();
  return machine;
}

// Batches and subsets are as large as the data let them be, and parameters say no more than how large they may get.
MemoryEstimate estimate_images(const Pipeline& pipeline) {
  MemoryEstimate estimate = estimate_memory(pipeline);
  std::erase_if(estimate.gadgets, [](const GadgetMemory& gadget) {
    return gadget.is_limit || gadget.need.lower != std::string_view("image.size");
  });
  estimate.host.at_least = estimate.device.at_least = 0;
  for (const GadgetMemory& gadget : estimate.gadgets) {
    const MemoryNeed& need = gadget.need;
    std::size_t &host = estimate.host.at_least, &device = estimate.device.at_least;
    host = memory_sum(host, memory_sum(gadget.host_bytes, need.gives_on_device ? 0 : need.message_bytes));
    device = memory_sum(device, memory_sum(need.device_bytes, need.gives_on_device ? need.message_bytes : 0));
  }
  return estimate;
}

MachineMemory times(std::size_t factor, const MachineMemory& machine) {
  MachineMemory larger{memory_product(factor, machine.host_bytes), machine.device_bytes};
  if (larger.device_bytes) *larger.device_bytes = memory_product(factor, *larger.device_bytes);
  return larger;
}

}  // namespace

MachineMemory free_memory() {
  MachineMemory machine{host_memory_bytes(), std::nullopt};
  if (why_no_cuda().empty()) machine.device_bytes = free_device_bytes();
  return machine;
}

MemoryVerdict compare_with_size(const std::string& name, const PipelineOptions& options, const Pipeline& pipeline,
                                const MachineMemory& machine, EstimateOf& estimate_of) {
  MemoryVerdict verdict = compare_memory(estimate_of(pipeline), machine);
  if (verdict.errors.empty()) return verdict;
  const std::string size = size_that_fits(name, options, pipeline, machine, estimate_of);
  for (std::string& error : verdict.errors)
    if (!size.empty()) error += fmt::format("; {} fits", size);
  return verdict;
}

void require_memory(const std::string& name, const PipelineOptions& options, const Pipeline& pipeline) {
  // The estimate counts what a sensitivity needs while it is made. One from the cache needs none of that: such runs were
  // seen to use three fifths of their estimate.
  constexpr std::size_t certainly_too_much = 2;
  const MemoryEstimate estimate = estimate_images(pipeline);
  const MachineMemory machine = whole_memory(estimate.device.at_least > 0);
  const MemoryVerdict verdict = compare_with_size(name, options, pipeline, machine, estimate_images);
  if (!compare_memory(estimate, times(certainly_too_much, machine)).errors.empty())
    throw InputError(fmt::format("{}", fmt::join(verdict.errors, "\n")));
  for (const std::string& error : verdict.errors) print_printable(stderr, "warning: {}\n", error);
}

}  // namespace tofstream::command
// SPDX-License-Identifier: Apache-2.0
