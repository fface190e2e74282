// In which order the subsets of a pass follow one another, whatever kind of data they are of, offline and live.
#pragma once

#include <cstdint>
#include <vector>

#include "core/gadget.hpp"

namespace tofstream {

enum class PassRule { sequential, farthest, golden, herman_meyer, random };
constexpr auto enum_names(PassRule) {
  return names(PassRule::sequential, "sequential", PassRule::farthest, "farthest", PassRule::golden, "golden",
               PassRule::herman_meyer, "herman_meyer", PassRule::random, "random");
}

struct PassOrder {
  PassRule rule = PassRule::sequential;
  std::int64_t seed = 1;  // of random
};

inline constexpr auto pass_rule_words =
    "How subsets follow one another in a pass: sequential: by number; farthest: each as far from those before it as "
    "can be, on a circle; golden: in steps of the golden section of a circle; herman_meyer: by the prime factors of "
    "their number; random: another order in each pass. All but sequential wait for the last subset";
inline constexpr auto final_order_words =
    "With `final: offline`: sequential, farthest, golden, herman_meyer or random, as `order` of the gadget for files. "
    "While the scan runs, and of `converged`, new data come first";
inline constexpr auto pass_seed_words = "For random: same seed, same orders";

/// The subsets 0 to count - 1 as they follow one another in the pass `iteration`, from 1; each once.
///   golden: steps of one length round the circle, prime to `count` and as near to its golden section as can be: 0 5 2 7
///   4 1 6 3. Of 6 or fewer but 5, where each such step leads to a neighbour, as herman_meyer.
///   herman_meyer: the digits of the place, its radices the prime factors of `count` from the smallest, are read the
///   other way round: 0 4 2 6 1 5 3 7. A prime number of subsets stays in sequence. Herman and Meyer 1993, for
///   projections; the order of the factors is ours.
std::vector<int> pass_order(const PassOrder& order, int count, int iteration);

/// Warns where the rule leaves the sequence as it is: herman_meyer of a prime number.
void warn_of_order(const PassOrder& order, int count, Context& context);

/// farthest: 0 4 2 6 1 3 5 7. Greedy: of a few subsets all steps are long; of many those of a pass's second half are not.
std::vector<int> farthest_apart(int subsets);

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
