// `tofstream-bench projectors` as a user runs it.
#include "tests/command/command.hpp"

using namespace tofstream;

TEST_CASE("tofstream bench says where the benchmarks are") {
  const auto run = run_command("bench projectors --json");
  CHECK(run.code == 2);
  CHECK_MESSAGE(run.err.find("a program of their own, tofstream-bench") != std::string::npos, run.err);
}

TEST_CASE("a wrong --cuda-path is answered with the words that there are") {
  const auto path = run_bench("projectors --cuda-path fast");
  CHECK(path.code == 2);
  CHECK_MESSAGE(path.err.find("--cuda-path: fast not in {automatic,direct,tiled,paper}") != std::string::npos,
                path.err);
  CHECK(path.err.find("->") == std::string::npos);
}
// SPDX-License-Identifier: Apache-2.0
