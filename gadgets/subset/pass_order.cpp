// The order of a pass: see pass_order.hpp.
#include "gadgets/subset/pass_order.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace tofstream {
namespace {

std::vector<int> prime_factors(int number) {
  std::vector<int> factors;
  for (int factor = 2; factor * factor <= number; ++factor)
    for (; number % factor == 0; number /= factor) factors.push_back(factor);
  if (number > 1) factors.push_back(number);
  return factors;
}

std::vector<int> by_prime_factors(int count) {
  const std::vector<int> factors = prime_factors(count);
  std::vector<int> order;
  for (int place = 0; place < count; ++place) {
    int number = 0, left = place, step = count;
    for (const int factor : factors) {
      step /= factor;
      number += left % factor * step;
      left /= factor;
    }
    order.push_back(number);
  }
  return order;
}

// Nothing where the only steps that visit all lead to a neighbour.
std::optional<int> golden_step(int count) {
  constexpr double golden = 0.6180339887498949;
  const double section = golden * count;
  std::optional<int> nearest;
  for (int step = 1; step < count; ++step)
    if (std::gcd(step, count) == 1 && (!nearest || std::abs(step - section) < std::abs(*nearest - section)))
      nearest = step;
  return nearest == count - 1 ? std::nullopt : nearest;
}

std::vector<int> by_golden_section(int count) {
  const auto step = golden_step(count);
  if (!step) return by_prime_factors(count);
  std::vector<int> order;
  for (std::int64_t place = 0; place < count; ++place) order.push_back(static_cast<int>(place * *step % count));
  return order;
}

// By Fisher and Yates. The generator is the standard's, so that a seed means the same everywhere.
std::vector<int> shuffled(std::vector<int> order, std::int64_t seed, int iteration) {
  std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(iteration)};
  std::mt19937_64 random(words);
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random() % left]);
  return order;
}

}  // namespace

std::vector<int> farthest_apart(int subsets) {
  std::vector<int> order{0};
  std::vector<int> nearest(static_cast<std::size_t>(subsets), std::numeric_limits<int>::max());  // of those in `order`
  while (order.size() < static_cast<std::size_t>(subsets)) {
    for (int k = 0; k < subsets; ++k) {
      const int apart = std::abs(k - order.back());
      int& distance = nearest[static_cast<std::size_t>(k)];
      distance = std::min({distance, apart, subsets - apart});
    }
    order.push_back(static_cast<int>(std::ranges::max_element(nearest) - nearest.begin()));
  }
  return order;
}

std::vector<int> pass_order(const PassOrder& order, int count, int iteration) {
  if (count < 1) return {};
  if (order.rule == PassRule::farthest) return farthest_apart(count);
  if (order.rule == PassRule::golden) return by_golden_section(count);
  if (order.rule == PassRule::herman_meyer) return by_prime_factors(count);
  std::vector<int> sequence(static_cast<std::size_t>(count));
  std::iota(sequence.begin(), sequence.end(), 0);
  return order.rule == PassRule::random ? shuffled(std::move(sequence), order.seed, iteration) : sequence;
}

void warn_of_order(const PassOrder& order, int count, Context& context) {
  constexpr int nothing_to_order = 3;
  if (order.rule != PassRule::herman_meyer || count <= nothing_to_order || prime_factors(count).size() > 1) return;
  context.log().warning(
      fmt::format("herman_meyer leaves {} subsets in sequence, since {} is a prime number: take a number with small "
                  "factors, or another order",
                  count, count));
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
