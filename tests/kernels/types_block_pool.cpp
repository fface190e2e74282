// Blocks of memory that are kept for the next request.
#include <cstdlib>

#include "kernels/memory/block_pool.hpp"

using namespace tofstream;

namespace {

// A system with so many bytes, which counts what it has given.
std::size_t room = 0;
int given = 0;

void* take(std::size_t bytes) {
  if (bytes > room) return nullptr;
  room -= bytes;
  ++given;
  return std::malloc(bytes);
}
void give_back(void* block, std::size_t bytes) {
  room += bytes;
  --given;
  std::free(block);
}

}  // namespace

TEST_CASE("a block that is given back serves the next request of its size, not one that would waste most of it") {
  room = 1 << 20;
  given = 0;
  {
    BlockPool pool(take, give_back);
    void* const first = pool.allocate(50'000);
    pool.release(first);
    CHECK(pool.kept_bytes() == 53'248);  // whole pages
    CHECK(pool.used_bytes() == 0);
    CHECK(pool.allocate(30'000) == first);
    CHECK(pool.kept_bytes() == 0);
    CHECK(pool.used_bytes() == 53'248);
    pool.release(first);
    void* const small = pool.allocate(20'000);
    CHECK(small != first);
    CHECK(given == 2);
    pool.release(small);
  }
  CHECK(given == 0);
}

TEST_CASE("where the system refuses, kept blocks go back to it first") {
  room = 100 * 4096;
  given = 0;
  BlockPool pool(take, give_back);
  void* const first = pool.allocate(60 * 4096);
  CHECK(pool.allocate(60 * 4096) == nullptr);
  pool.release(first);
  void* const larger = pool.allocate(90 * 4096);
  REQUIRE(larger != nullptr);
  CHECK(given == 1);
  pool.release(larger);
  pool.release(larger);  // known to be kept: nothing happens
  CHECK(pool.kept_bytes() == 90 * 4096);
  pool.trim();
  CHECK(room == 100 * 4096);
}
// SPDX-License-Identifier: Apache-2.0
