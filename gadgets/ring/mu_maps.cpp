// Two mu maps: see mu_maps.hpp.
#include "gadgets/ring/mu_maps.hpp"

#include "gadgets/io/nifti/mu_map.hpp"

namespace tofstream {

ReadMuMaps read_mu_maps(const std::filesystem::path& object, const std::filesystem::path& hardware,
                        const std::string& gadget) {
  ReadMuMaps read;
  read.by.gadget = gadget;
  if (!object.empty()) {
    read.object = read_mu_map(object);
    require_per_cm(object, *read.object);
    read.by.mu_map = object.string();
    read.by.checksum = checksum_of_mu_map(*read.object);
  }
  if (!hardware.empty()) {
    read.hardware = read_mu_map(hardware, "hardware_mu_map");
    require_per_cm(hardware, *read.hardware);
    read.by.mu_map += (object.empty() ? "" : " and ") + hardware.string() + " of hardware";
    read.by.checksum = checksum_of_mu_map(*read.hardware, read.by.checksum + 1);
  }
  return read;
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
