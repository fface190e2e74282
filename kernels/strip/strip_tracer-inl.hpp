// One event of two strips on the CPU: the columns of its ellipse (contiguous in memory, and taller than its rows are
// wide), a pixel a lane, a vector of each column in a first pass and more of the tall ones in the next; a column a lane
// prepares them.
#if defined(TOFSTREAM_STRIP_TRACER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TOFSTREAM_STRIP_TRACER_INL
#undef TOFSTREAM_STRIP_TRACER_INL
#else
#define TOFSTREAM_STRIP_TRACER_INL
#endif

#include <algorithm>
#include <cmath>

#include "kernels/strip/kernel-inl.hpp"
#include "kernels/strip/strip_cpu_setup.hpp"

TOFSTREAM_LANES_BEGIN

/// One event: its columns, then its weights. Preparing and evaluating are calls of their own, made for several events
/// in turn, since a core overlaps the long chains of dependent operations of one event only with those of others.
template <StripForm form>
class StripTracer {
 public:
  explicit StripTracer(const StripSetup& setup) : setup_(setup), store_(setup.grid, lanes) {}

  /// Finds event i's columns. Flattened, so that the event's numbers are prepared with this instruction set too.
  HWY_FLATTEN void prepare(const EventView& events, std::int64_t i) {
    const StripSettings& settings = setup_.settings;
    const auto response = strip_response<float>(events, i);
    event_ = StripEventTerms<float>::make(form, settings.geometry, settings.resolution, response);
    if constexpr (form == StripForm::full) near_ = strip_near_ends(settings.geometry, settings.resolution, response);
    vectors_ = 0;
    passes_ = 0;
    if (!event_.finite()) return;
    // A column dz from the emission has a chord, half of which squared (pixels) is most - narrowing dz^2.
    const float per_steepness = 1 / (event_.along + event_.across * event_.tan * event_.tan), per_y = setup_.per_y;
    const float most = strip_cut * per_steepness * per_y * per_y;
    const float narrowing = event_.across * event_.along * per_steepness * per_steepness * per_y * per_y;
    find_passes(most, 1 / narrowing);
    if (passes_ > 0)
      prepare_columns(event_, store_.passes[0], most, narrowing, event_.across * event_.tan * per_steepness);
  }

  /// Finds the weights, and the sum of their products with the image. Flattened, since GCC would otherwise call
  /// functions that are used often.
  HWY_FLATTEN HWY_ATTR float gather(const float* image) {
    vectors_ = 0;
    FloatLanes sum = splat<FloatLanes>(0.0f);
    for (int pass = 0; pass < passes_; ++pass) {
      if (near_.high && near_.low)
        evaluate<Ends::both>(pass, image, sum);
      else if (near_.high)
        evaluate<Ends::high>(pass, image, sum);
      else if (near_.low)
        evaluate<Ends::low>(pass, image, sum);
      else
        evaluate<Ends::none>(pass, image, sum);
    }
    return vectors_ > 0 ? event_.scale * sum_of_lanes(sum) : 0;
  }

  /// image += value x weights of the event gathered last.
  void scatter(float value, float* image) const {
    if (vectors_ == 0) return;
    const FloatLanes values = splat<FloatLanes>(value * event_.scale);
    const float* weights = store_.weights.data();
    const std::int32_t* const offsets = store_.offsets.data();
    const std::int64_t vectors = vectors_;
    for (std::int64_t v = 0; v < vectors; ++v, weights += lanes) {
      float* const pixels = image + offsets[v];
      hn::StoreU(mul_add(hn::LoadU(d_, weights), values, hn::LoadU(d_, pixels)), d_, pixels);
    }
  }

 private:
  static constexpr int lanes = static_cast<int>(hn::MaxLanes(FloatTag()));
  /// The ends of the strips that an event is near; the full form alone looks at them.
  enum class Ends { none, high, low, both };

  /// The columns of each pass over the event, those whose chords may have more pixels than the passes before took: a
  /// vector of each.
  HWY_INLINE void find_passes(float most, float per_narrowing) {
    const Grid& grid = setup_.grid;
    const float middle = (event_.z - grid.origin_mm.z) * setup_.per_z;
    for (StripStore::Pass& columns : store_.passes) {
      const float half = passes_ == 0 ? 0.0f : 0.5f * static_cast<float>(passes_ * lanes - 1);
      const float rest = most - half * half;
      if (!(rest > 0)) return;
      const float reach = std::sqrt(rest * per_narrowing) * setup_.per_z;
      strip_pixels(middle - reach, middle + reach, grid.size[2], columns.first, columns.last);
      if (columns.first > columns.last) return;
      ++passes_;
    }
  }

  /// Finds the first pixel of each column's chord, and its polynomials.
  HWY_INLINE void prepare_columns(const StripEventTerms<float> event, const StripStore::Pass& columns, float most,
                                  float narrowing, float slope) {
    const Grid& grid = setup_.grid;
    const FloatLanes zero = splat<FloatLanes>(0.0f), size = splat<FloatLanes>(static_cast<float>(grid.size[1]));
    const FloatLanes y = splat<FloatLanes>((event.y - grid.origin_mm.y) * setup_.per_y + 0.999f);  // rounds up
    const IndexTag index;
    std::int32_t* const first = store_.first.data();
    float* const* const coefficients = store_.coefficient;
    const int count = columns.last - columns.first + 1;
    FloatLanes dz = mul_add(lane_index<FloatLanes>() + splat<FloatLanes>(static_cast<float>(columns.first)),
                            splat<FloatLanes>(grid.voxel_mm.z), splat<FloatLanes>(grid.origin_mm.z - event.z));
    for (int at = 0; at < count; at += lanes) {
      const FloatLanes half =
          square_root(maximum(splat<FloatLanes>(most) - splat<FloatLanes>(narrowing) * dz * dz, zero));
      const FloatLanes begin = round_down(mul_add(splat<FloatLanes>(slope * setup_.per_y), dz, y) - half);
      hn::StoreU(hn::ConvertTo(index, minimum(maximum(begin, zero), size)), index, first + at);
      const StripColumn<FloatLanes> column = strip_column<form>(event, dz);
      hn::StoreU(column.squared0, d_, coefficients[0] + at);
      hn::StoreU(column.squared1, d_, coefficients[1] + at);
      if constexpr (form != StripForm::gaussian) {
        hn::StoreU(column.mixed0, d_, coefficients[2] + at);
        hn::StoreU(column.mixed1, d_, coefficients[3] + at);
        hn::StoreU(column.norm0, d_, coefficients[4] + at);
        hn::StoreU(column.norm1, d_, coefficients[5] + at);
      }
      dz = dz + splat<FloatLanes>(lanes * grid.voxel_mm.z);
    }
  }

  /// The weights of a pass, and the sum of their products with the image. Near the strips' ends that takes two more
  /// loops, since pixels that are not near them need no error function.
  template <Ends ends>
  HWY_INLINE void evaluate(int pass, const float* image, FloatLanes& sum) {
    const int cut = find_weights<ends>(pass, image, sum);
    const int count = store_.passes[static_cast<std::size_t>(pass)].count();
    if constexpr (ends != Ends::none) {
      cut_at_ends<ends>(cut);
      const float* weights = store_.weights.data() + vectors_ * lanes;
      const std::int32_t* const offsets = store_.offsets.data() + vectors_;
      for (int v = 0; v < count; ++v, weights += lanes)
        sum = mul_add(hn::LoadU(d_, weights), hn::LoadU(d_, image + offsets[v]), sum);
    }
    vectors_ += count;
  }

  /// The weights of a pass; away from the strips' ends with the sum of their products with the image, else without
  /// their share of angles: then returns how many vectors have pixels near the ends, and lists them.
  template <Ends ends>
  HWY_INLINE int find_weights(int pass, const float* image, FloatLanes& total) {
    // Copies, so that what is stored cannot change them: they stay in registers.
    const StripEventTerms<float> event = event_;
    const StripStore::Pass columns = store_.passes[static_cast<std::size_t>(pass)];
    const int skipped = columns.first - store_.passes[0].first, count = columns.count();
    const float* coefficients[6];
    for (int c = 0; c < 6; ++c) coefficients[c] = store_.coefficient[c] + skipped;
    const std::int32_t* const first = store_.first.data() + skipped;
    std::int32_t *const offsets = store_.offsets.data() + vectors_, *const listed = store_.cut.data();
    float* const weights = store_.weights.data() + vectors_ * lanes;
    float *const nearer = store_.nearer.data(), *const farther = store_.farther.data();
    const float *low = setup_.low.data(), *high = setup_.high.data(), *ys = setup_.y.data();
    const int rows = setup_.grid.size[1];
    const FloatLanes event_y = splat<FloatLanes>(event.y), event_angle = splat<FloatLanes>(event.angle);
    const FloatLanes zero = splat<FloatLanes>(0.0f);
    StripColumn<FloatLanes> column = strip_column<form>(event, zero);  // what columns share is of any
    int cut = 0;
    FloatLanes sum = total;
    std::int32_t base = columns.first * rows;
    for (int at = 0; at < count; ++at, base += rows) {
      const int j = std::min(first[at] + pass * lanes, rows);
      const std::int32_t offset = base + j;
      column.squared0 = hn::Set(d_, coefficients[0][at]);
      column.squared1 = hn::Set(d_, coefficients[1][at]);
      if constexpr (form != StripForm::gaussian) {
        column.mixed0 = hn::Set(d_, coefficients[2][at]);
        column.mixed1 = hn::Set(d_, coefficients[3][at]);
        column.norm0 = hn::Set(d_, coefficients[4][at]);
        column.norm1 = hn::Set(d_, coefficients[5][at]);
      }
      const auto pixel = column.template at<form>(hn::LoadU(d_, ys + j) - event_y);
      FloatLanes weight;
      if constexpr (form == StripForm::gaussian) {
        weight = strip_shape<form, FloatLanes>(event, pixel, {});
      } else {
        const StripPeak<FloatLanes> peak = strip_peak(event, pixel);
        weight = peak.shape;
        if constexpr (ends != Ends::none) {
          StripEdges<FloatLanes> edges{zero, zero};
          if constexpr (ends == Ends::both) {
            edges = strip_edges<FloatLanes>(event, peak, {hn::LoadU(d_, low + offset), hn::LoadU(d_, high + offset)});
            hn::StoreU(edges.farther, d_, farther + at * lanes);
          } else if constexpr (ends == Ends::high) {
            edges.nearer = strip_edge(event, peak, hn::LoadU(d_, high + offset));
          } else {
            edges.nearer = hn::MulSub(event_angle - hn::LoadU(d_, low + offset), peak.root, peak.turn);
          }
          hn::StoreU(edges.nearer, d_, nearer + at * lanes);
          listed[cut] = at;
          cut += !none_of(hn::And(less(edges.nearer, splat<FloatLanes>(strip_whole)), less(zero, weight)));
        }
      }
      if constexpr (ends == Ends::none) sum = mul_add(weight, hn::LoadU(d_, image + offset), sum);
      hn::StoreU(weight, d_, weights + at * lanes);
      offsets[at] = offset;
    }
    total = sum;
    return cut;
  }

  /// Multiplies the listed weights by their share of angles. In a loop of its own: so no branch depends on a pixel, and
  /// the chains of operations are half as long.
  template <Ends ends>
  HWY_INLINE void cut_at_ends(int cut) {
    const std::int32_t* const listed = store_.cut.data();
    const float *const nearer = store_.nearer.data(), *const farther = store_.farther.data();
    float* const weights = store_.weights.data() + vectors_ * lanes;
    for (int n = 0; n < cut; ++n) {
      const std::int64_t at = std::int64_t{listed[n]} * lanes;
      const FloatLanes edge = hn::LoadU(d_, nearer + at);
      FloatLanes share;
      if constexpr (ends == Ends::both)
        share = strip_share<FloatLanes>({edge, hn::LoadU(d_, farther + at)});
      else
        share = strip_share_below(edge);
      hn::StoreU(hn::LoadU(d_, weights + at) * share, d_, weights + at);
    }
  }

  const FloatTag d_;
  const StripSetup& setup_;
  StripStore store_;
  StripEventTerms<float> event_{};
  StripNearEnds near_{};
  int passes_ = 0;
  std::int64_t vectors_ = 0;
};

TOFSTREAM_LANES_END

#endif  // TOFSTREAM_STRIP_TRACER_INL
// SPDX-License-Identifier: Apache-2.0
