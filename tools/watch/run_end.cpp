// The last lines of a run: see run_end.hpp.
#include "tools/watch/run_end.hpp"

#include <algorithm>
#include <map>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "gadgets/io/grouped.hpp"
#include "tools/watch/report_html.hpp"

namespace tofstream {
namespace {

using Words = std::vector<std::string>;

// The figure under a key if it is one of this type, else the type's empty value.
template <class T>
T figure(const GadgetReport& gadget, const char* key) {
  const auto found = gadget.figures.find(key);
  const T* value = found != gadget.figures.end() ? std::get_if<T>(&found->second) : nullptr;
  return value ? *value : T();
}

std::string image_line(const GadgetReport& writer) {
  const auto size = figure<std::vector<double>>(writer, "size"),
             edges = figure<std::vector<double>>(writer, "voxel_mm");
  const bool is_cubic = std::ranges::adjacent_find(edges, std::ranges::not_equal_to()) == edges.end();
  std::string line = figure<std::string>(writer, "file");
  if (!size.empty() && !edges.empty())
    line += fmt::format(": {:g} voxels of {:g} mm", fmt::join(size, " x "),
                        fmt::join(edges.begin(), is_cubic ? edges.begin() + 1 : edges.end(), " x "));
  for (const char* key : {"filtered", "unit"})
    if (const auto words = figure<std::string>(writer, key); !words.empty()) line += ", " + words;
  const auto why = figure<Words>(writer, "not_quantitative");
  if (!why.empty()) line += fmt::format(", not quantitative: {}", fmt::join(why, "; "));
  return line + "\n";
}

// "3 iterations x 8 subsets of ", "120 updates with "
std::string updates_words(const GadgetReport& writer) {
  const auto count = [](std::int64_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  const auto iterations = figure<std::int64_t>(writer, "iteration"), subsets = figure<std::int64_t>(writer, "subsets"),
             updates = figure<std::int64_t>(writer, "updates");
  if (subsets > 0) return count(iterations, "iteration") + " x " + count(subsets, "subset") + " of ";
  return updates > 0 ? count(updates, "update") + " with " : "";
}

void add_fates(const std::map<std::string, std::uint64_t>& events, const char* fate, Words& fates) {
  for (const auto& [reason, number] : events)
    if (number > 0) fates.push_back(fmt::format("{} {}: {}", grouped(number), fate, reason));
}

// Events that a journal held when the run began to continue it: the books count them too.
std::uint64_t kept_before(const RunReport& report) {
  std::int64_t events = 0;
  for (const GadgetReport& gadget : report.gadgets) events += figure<std::int64_t>(gadget, "replayed_events");
  return static_cast<std::uint64_t>(std::max<std::int64_t>(events, 0));
}

std::string events_line(const RunReport& report, const GadgetReport* writer) {
  const BookBalance& books = report.books;
  if (books.received == 0) return {};
  Words fates;
  add_fates(books.rejected, "rejected", fates);
  add_fates(books.lost, "lost", fates);
  if (books.discarded > 0) fates.push_back(grouped(books.discarded) + " discarded");
  const bool is_kept = books.reconstructed == 0 && books.written > 0;
  const std::uint64_t before = is_kept ? std::min(kept_before(report), books.written) : 0;
  if (before > 0) fates.push_back(grouped(before) + " were in the journal before");
  return fmt::format("{}{} events{}, {} received{}{}\n", writer ? updates_words(*writer) : "",
                     grouped(is_kept ? books.written - before : books.reconstructed), is_kept ? " written" : "",
                     grouped(books.received - std::min(before, books.received)), fates.empty() ? "" : "; ",
                     fmt::join(fates, "; "));
}

std::string corrections_line(const GadgetReport& writer) {
  const auto made = figure<Words>(writer, "corrections_made"), missing = figure<Words>(writer, "corrections_not_made");
  if (made.empty() && missing.empty()) return {};
  const auto listed = [](const Words& words) {
    return words.empty() ? std::string("none") : fmt::format("{}", fmt::join(words, ", "));
  };
  return fmt::format("corrections made: {}; not made: {}\n", listed(made), listed(missing));
}

}  // namespace

std::string run_end(const RunReport& report) {
  std::string text;
  const GadgetReport* image = nullptr;  // what made the first one: iterations and corrections are its
  for (const GadgetReport& gadget : report.gadgets) {
    if (figure<std::string>(gadget, "file").empty()) continue;
    text += image_line(gadget);
    if (!image && gadget.figures.contains("voxel_mm")) image = &gadget;
  }
  text += events_line(report, image);
  if (image) text += corrections_line(*image);
  if (std::ranges::find(report.files, report_html_name, &RunFile::name) != report.files.end())
    text += fmt::format("report: {}\n", (report.output_dir / report_html_name).string());
  return text + fmt::format("{} after {:.3g} s\n", outcome(report), report.seconds);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
