// What the values of an image are: their unit, and which corrections the events behind them had. Events carry it from
// where they enter the program; each gadget that corrects or rejects events hands on one that says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tofstream {

/// What PET corrects events for.
enum class Correction { attenuation, normalisation, randoms, scatter, dead_time, decay };
inline constexpr std::size_t correction_count = 6;
/// "attenuation", ..., "dead time", "decay"
std::string_view name_of(Correction correction);

enum class CorrectionState {
  not_needed,  // the data say so, as a simulation without attenuation
  made,
  not_made,    // and nobody says whether the data need it
  called_for,  // the data need it, and it is not made
};
std::string_view name_of(CorrectionState state);

struct CorrectionRecord {
  CorrectionState state = CorrectionState::not_made;
  std::string how = {};  // by what it was made, or why it is needed or not; may be empty
  friend bool operator==(const CorrectionRecord&, const CorrectionRecord&) = default;
};

/// What is said of one of the corrections.
struct NamedCorrection {
  Correction correction = Correction::scatter;
  CorrectionRecord record = {};
  friend bool operator==(const NamedCorrection&, const NamedCorrection&) = default;
};

/// The gadget that gave events their terms for EM, and the mu map that it took: the sensitivity needs the same one.
struct AttenuatedBy {
  std::string gadget = {};  // empty: none did
  std::string mu_map = {};  // its file; empty: none
  std::uint32_t checksum = 0;
  friend bool operator==(const AttenuatedBy&, const AttenuatedBy&) = default;
};

/// How values were corrected for decay.
struct DecayCorrection {
  double half_life_s = 0;       // 0: not known
  double reference_time_s = 0;  // scan time whose activity the values are
  friend bool operator==(const DecayCorrection&, const DecayCorrection&) = default;
};
/// "half-life 6584.04 s", "half-life 6584.04 s, to 120 s of scan time"
std::string words_of(const DecayCorrection& decay);

struct Quantity {
  std::string unit = {};  // of a rate, as efficiencies have it; empty: relative
  std::string scale = "the events do not say what their scale is";  // where the unit is from, or why there is none
  double reference_s = 0;  // scan time whose decays the values count: 1 makes them a rate; 0: not said yet
  std::array<CorrectionRecord, correction_count> corrections = {};
  DecayCorrection decay = {};  // where `corrections` say that it was made: see correct_for_decay
  std::vector<std::string> rejecting =
      {};                               // gadgets that left out valid events, of which the sensitivity knows nothing
  std::vector<std::string> marks = {};  // further reasons why the values are not what the unit says
  AttenuatedBy attenuated_by = {};

  CorrectionRecord& operator[](Correction c) { return corrections[static_cast<std::size_t>(c)]; }
  const CorrectionRecord& operator[](Correction c) const { return corrections[static_cast<std::size_t>(c)]; }
  friend bool operator==(const Quantity&, const Quantity&) = default;
};

/// The unit of a value: "Bq/mL", or "Bq s/mL" where decays of a time other than 1 s are counted, or "relative".
std::string unit_of(const Quantity& quantity);
/// Why the values are not that unit's, in words; empty where they are. Decay that is not corrected does not count, since
/// a value is then the mean over the scan, unless it is called for: views from other sides see another activity.
std::vector<std::string> not_quantitative_because(const Quantity& quantity);
/// "Bq/mL", or "Bq/mL, not quantitative: no attenuation correction"
std::string label_of(const Quantity& quantity);
/// Says that the values are corrected for decay.
void correct_for_decay(Quantity& quantity, const DecayCorrection& decay);
/// How the values were corrected for decay; nothing where they were not. `quantity` may be null.
std::optional<DecayCorrection> decay_correction_of(const Quantity* quantity);
/// Names of the corrections in this state, in their order.
std::vector<std::string> corrections_in(const Quantity& quantity, CorrectionState state);

/// What events of both kinds together show: what either lacks is lacking.
Quantity merged(const Quantity& a, const Quantity& b);
/// The same with one more gadget that leaves out valid events.
std::shared_ptr<const Quantity> with_rejecting(const std::shared_ptr<const Quantity>& quantity,
                                               const std::string& gadget);

/// What all events so far have in common; null while none of them has said anything.
class QuantitySoFar {
 public:
  void add(const std::shared_ptr<const Quantity>& quantity);
  const std::shared_ptr<const Quantity>& get() const { return all_; }

 private:
  std::shared_ptr<const Quantity> last_, all_;
};

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
