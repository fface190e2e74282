// Views to and from frames: see view_frames.hpp.
#include "gadgets/spect/io/view_frames.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gadgets/io/wire/record_arrays.hpp"
#include "gadgets/spect/io/interfile_study.hpp"
#include "gadgets/spect/io/interfile_write.hpp"

namespace tofstream::wire {
namespace {

constexpr double ns_per_s_of_views = 1e9;
constexpr double largest_counts_of_view = 1e15;  // doubles still tell whole counts apart

std::uint64_t view_nanoseconds(double seconds) {
  return static_cast<std::uint64_t>(std::llround(std::max(seconds, 0.0) * ns_per_s_of_views));
}

bool is_uint16(float value) {
  return value >= 0 && value <= float{std::numeric_limits<std::uint16_t>::max()} && value == std::floor(value);
}

template <class T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto piece = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), piece.begin(), piece.end());
}

Schema schema_for(std::span<const float> counts, ViewPixels pixels) {
  if (pixels == ViewPixels::float32) return views_of_floats;
  if (std::ranges::all_of(counts, is_uint16)) return views_of_integers;
  if (pixels == ViewPixels::uint16)
    throw std::invalid_argument("a pixel is no whole number in [0, 65535]: send these views as float32");
  return views_of_floats;
}

FrameHeader header_of_views(const ViewBatch& batch, Schema schema) {
  double start_s = std::numeric_limits<double>::max(), end_s = 0;
  for (const ViewRecord& record : batch.records) {
    const ViewPlace& place = batch.set->places[static_cast<std::size_t>(record.view)];
    start_s = std::min(start_s, place.start_s);
    end_s = std::max(end_s, place.start_s + place.duration_s);
  }
  const std::uint64_t start_ns = view_nanoseconds(start_s);
  return {.schema = schema,
          .events = batch.event_count(),
          .start_ns = start_ns,
          .duration_ns = std::max(view_nanoseconds(end_s), start_ns) - start_ns};
}

// Numbers of a view's pixels that no camera counts; empty where there are none.
std::string wrong_pixels(std::span<const float> pixels, const ViewRecord& record) {
  double sum = 0;
  for (const float count : pixels) {
    if (!(count >= 0 && std::isfinite(count)))
      return fmt::format("view {} has a pixel of {} counts", record.view, count);
    sum += static_cast<double>(count);
  }
  if (sum > largest_counts_of_view || std::abs(sum - static_cast<double>(record.counts)) > 1)
    return fmt::format("view {} says {} counts, and its pixels have {:g}", record.view, record.counts, sum);
  return "";
}

std::string wrong_record(const ViewRecord& record, const ViewSet& set) {
  if (record.view < 0 || static_cast<std::size_t>(record.view) >= set.places.size())
    return fmt::format("view {}, but the camera has {} (from 0)", static_cast<std::uint32_t>(record.view),
                       set.places.size());
  if (!(record.exposure > 0 && std::isfinite(record.exposure)))
    return fmt::format("view {} has an exposure of {}", record.view, record.exposure);
  return "";
}

Buffer<float> read_pixels_of(Schema schema, std::span<const std::byte> rest, std::int64_t count) {
  if (schema == views_of_floats) return read_array<float>(rest, count);
  const auto integers = read_array<std::uint16_t>(rest, count);
  Buffer<float> pixels(Memory::host, count);
  std::ranges::copy(integers.span(), pixels.span().begin());
  return pixels;
}

// The frame's views without their pixels; `rest` is then what follows.
ViewBatch read_records_of_views(std::span<const std::byte>& rest, const CameraStream& stream) {
  const auto head = read_array<std::uint32_t>(rest, 2);
  ViewBatch batch{.set = stream.set,
                  .window = static_cast<int>(std::min(head[1], std::uint32_t{std::numeric_limits<int>::max()})),
                  .quantity = stream.quantity};
  const std::int64_t views = head[0];
  if (views < 1 || static_cast<std::size_t>(views) > rest.size() / bytes_a_view) return batch;
  const auto exposures = read_array<double>(rest, views);
  const auto counts = read_array<std::uint64_t>(rest, views);
  const auto numbers = read_array<std::uint32_t>(rest, views);
  for (std::int64_t i = 0; i < views; ++i)
    batch.records.push_back(
        {.view = static_cast<std::int32_t>(numbers[i]), .exposure = exposures[i], .counts = counts[i]});
  batch.count = views * stream.set->pixels();
  return batch;
}

std::string wrong_views(const ViewBatch& batch, const FrameHeader& header, std::size_t pixel_payload) {
  const ViewSet& set = *batch.set;
  const auto windows = static_cast<int>(std::max<std::size_t>(set.windows.size(), 1));
  if (batch.records.empty()) return "a number of views that its payload cannot hold";
  if (batch.window >= windows)
    return fmt::format("energy window {}, but the camera has {} (from 0)", batch.window, windows);
  for (const ViewRecord& record : batch.records)
    if (std::string wrong = wrong_record(record, set); !wrong.empty()) return wrong;
  if (pixel_payload != static_cast<std::uint64_t>(batch.count) * pixel_bytes(header.schema))
    return fmt::format("{} views of {} x {} pixels, and {} bytes of pixels", batch.records.size(), set.size[0],
                       set.size[1], pixel_payload);
  if (header.events != batch.event_count())
    return fmt::format("the header counts {} events, and its views have {}", header.events, batch.event_count());
  return "";
}

}  // namespace

std::vector<std::byte> write_camera_header(const ViewSet& set, const Quantity& quantity) {
  const std::string text = formats::interfile_stream_header(set, quantity);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

CameraStream read_camera_header(std::span<const std::byte> payload) {
  const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
  const formats::InterfileStudy study(formats::parse_interfile(text, "the stream's header"), {}, {});
  auto set = std::make_shared<ViewSet>(study.set());
  try {
    set->validate();
  } catch (const std::invalid_argument& wrong) {
    throw std::runtime_error(fmt::format("the stream's header: {}", wrong.what()));
  }
  return {std::move(set), std::make_shared<const Quantity>(study.quantity())};
}

ViewFrame write_views(const ViewBatch& batch, ViewPixels pixels) {
  if (batch.counts.empty()) throw std::invalid_argument("views without counts cannot be sent");
  if (!batch.multiplicative.empty() || !batch.additive.empty())
    throw std::invalid_argument("corrections of views are not sent: send views before they are corrected");
  const std::span<const float> counts = batch.counts.span();
  const Schema schema = schema_for(counts, pixels);
  ViewFrame frame{.header = header_of_views(batch, schema), .bytes = std::vector<std::byte>(header_bytes)};
  frame.bytes.reserve(header_bytes + view_frame_head + batch.records.size() * bytes_a_view +
                      counts.size() * pixel_bytes(schema));
  append(frame.bytes, static_cast<std::uint32_t>(batch.records.size()));
  append(frame.bytes, static_cast<std::uint32_t>(batch.window));
  for (const ViewRecord& record : batch.records) append(frame.bytes, record.exposure);
  for (const ViewRecord& record : batch.records) append(frame.bytes, record.counts);
  for (const ViewRecord& record : batch.records) append(frame.bytes, static_cast<std::uint32_t>(record.view));
  if (schema == views_of_integers) {
    for (const float count : counts) append(frame.bytes, static_cast<std::uint16_t>(count));
  } else {
    const auto all = std::as_bytes(counts);
    frame.bytes.insert(frame.bytes.end(), all.begin(), all.end());
  }
  return frame;
}

ViewBatch read_views(const Frame& frame, const CameraStream& stream, std::string& wrong) {
  auto rest = frame.payload;
  ViewBatch batch = read_records_of_views(rest, stream);
  wrong = wrong_views(batch, frame.header, rest.size());
  if (!wrong.empty()) return batch;
  batch.counts = read_pixels_of(frame.header.schema, rest, batch.count);
  const auto pixels = static_cast<std::size_t>(stream.set->pixels());
  for (std::size_t i = 0; i < batch.records.size() && wrong.empty(); ++i)
    wrong = wrong_pixels(batch.counts.span().subspan(i * pixels, pixels), batch.records[i]);
  return batch;
}

}  // namespace tofstream::wire
// SPDX-License-Identifier: Apache-2.0
