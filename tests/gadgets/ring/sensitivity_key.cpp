// The key under which a projector's sensitivity is kept on disk: a parameter that changes the sensitivity but is not in
// the key would silently give a wrong image.
#include <set>

#include <doctest/doctest.h>

#include "core/describe/describe_text.hpp"
#include "core/gadget/registry.hpp"
#include "core/value/document.hpp"

using namespace tofstream;

namespace {

std::string key_of(const GadgetInfo& gadget, const std::string& yaml) {
  const auto params = gadget.default_params();
  Problems problems;
  read_params(gadget.params, params.get(), {parse_document(yaml, "test.yaml", problems), gadget.name, problems});
  REQUIRE(problems.all().empty());
  return flow_text(write_key_params(gadget.params, params.get()));
}

}  // namespace

TEST_CASE("a ring projector's sensitivity is kept by all parameters but those that cannot change it") {
  for (const char* name : {"joseph_projector", "tor_projector", "blob_projector"}) {
    const GadgetInfo* const gadget = registry().find(name);
    REQUIRE(gadget);
    std::set<std::string> not_in_key;
    for (const ParamInfo& param : gadget->params)
      if (!param.rules.is_in_key) not_in_key.insert(param.name);
    // The mu map's voxels and the sampling are in the key by their values, not by the parameters that chose them.
    CHECK(not_in_key == std::set<std::string>{"tof", "mu_map", "hardware_mu_map", "sensitivity", "log_likelihood",
                                              "backend", "ranks", "rank_parts", "deal"});
  }
}

TEST_CASE("tubes that are normalised by slices or not, as the path on CUDA decides, have sensitivities of their own") {
  const GadgetInfo& tor = *registry().find("tor_projector");
  CHECK(key_of(tor, "{cuda_path: paper}") != key_of(tor, "{cuda_path: tiled}"));
  CHECK(key_of(tor, "{log_likelihood: true}") == key_of(tor, "{}"));
}
// SPDX-License-Identifier: Apache-2.0
