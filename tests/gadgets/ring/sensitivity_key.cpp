// The key under which a projector's sensitivity is kept on disk: a parameter that changes the sensitivity but is not in
// the key would silently give a wrong image.
#include <set>

#include <doctest/doctest.h>

#include "core/gadget/registry.hpp"
#include "core/value/document.hpp"
#include "gadgets/ring/pair_sensitivity.hpp"
#include "gadgets/ring/ring_parameters.hpp"

using namespace tofstream;

namespace {

std::string key_of(const GadgetInfo& gadget, const std::string& yaml) {
  const auto params = gadget.default_params();
  Problems problems;
  read_params(gadget.params, params.get(), {parse_document(yaml, "test.yaml", problems), gadget.name, problems});
  REQUIRE(problems.all().empty());
  return projector_key(gadget.name, gadget.params, params.get());
}

// A projector as it is after somebody has added a parameter: declared, and nothing else.
struct WiderProjector {
  struct Params : RingProjectorParams {
    float added_mm = 0;
  };
  static constexpr auto params =
      describe(param<&Params::added_mm>("added_mm", "Changes the sensitivity")) + RingProjectorParams::params;
};

}  // namespace

TEST_CASE("a parameter that is added to a ring projector changes the key without another line") {
  WiderProjector::Params p;
  const std::string before = projector_key<WiderProjector>("wider", p);
  p.added_mm = 2;
  CHECK(projector_key<WiderProjector>("wider", p) != before);
  p.added_mm = 0;
  p.tof_cut_sigma = 2.5f;
  CHECK(projector_key<WiderProjector>("wider", p) != before);
  p.tof_cut_sigma = 3;
  p.log_likelihood = true;  // declared not_in_key
  CHECK(projector_key<WiderProjector>("wider", p) == before);
}

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
