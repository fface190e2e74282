#include "core/report/books.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace tofstream {
namespace {

// The gadgets and edges that one copy of the stream passes.
struct Course {
  std::set<std::size_t> gadgets;
  std::set<std::size_t> edges;
};
using Courses = std::vector<Course>;

constexpr std::size_t most_courses = 64;  // copies multiply; beyond this many, further ones are not checked

class Settlement {
 public:
  Settlement(const Pipeline& pipeline, const std::vector<GadgetReport>& gadgets, const std::vector<EdgeReport>& edges)
      : pipeline_(pipeline), gadgets_(gadgets), edges_(edges), courses_(gadgets.size()), counts_(gadgets.size()) {
    bool any = false;
    for (std::size_t i = gadgets.size(); i-- > 0;) {  // topological order: successors come first here
      counts_[i] = settles(i);
      for (const PipelineEdge& edge : pipeline.edges)
        if (edge.from == i && !edge.is_feedback && counts_[edge.to]) counts_[i] = true;
      any = any || counts_[i];
    }
    if (!any) counts_.assign(gadgets.size(),
                             true);  // nothing settles, so every branch has to account for its events
  }

  BookBalance settle() {
    BookBalance balance;
    for (std::size_t i = 0; i < gadgets_.size(); ++i)
      if (counts_[i]) balance.received += received(i);
    Courses whole{Course{}};
    for (std::size_t i = 0; i < gadgets_.size(); ++i) {
      const bool is_root =
          std::ranges::none_of(pipeline_.edges, [&](const PipelineEdge& e) { return e.to == i && !e.is_feedback; });
      if (is_root && counts_[i]) whole = together(whole, from(i));
    }
    std::optional<std::size_t> shown;
    for (const Course& course : whole) {
      const BookBalance books = sum(course, balance.received);
      // The course that reconstructs is the one to show; an unbalanced one before all.
      if (!shown || (balance.balanced() && (!books.balanced() || books.reconstructed > balance.reconstructed)))
        balance = books;
      shown = 0;
    }
    return balance;
  }

 private:
  bool settles(std::size_t i) const { return gadgets_[i].books.reconstructed + gadgets_[i].books.written > 0; }

  std::uint64_t received(std::size_t i) const { return events_received(*pipeline_.gadgets[i].info, gadgets_[i]); }

  static Course joined(Course a, const Course& b) {
    a.gadgets.insert(b.gadgets.begin(), b.gadgets.end());
    a.edges.insert(b.edges.begin(), b.edges.end());
    return a;
  }

  // Where parts of the stream were merged again, both go on with the same copy.
  bool agree(const Course& a, const Course& b) const {
    return std::ranges::none_of(a.edges, [&](std::size_t x) {
      const PipelineEdge& mine = pipeline_.edges[x];
      return !b.edges.contains(x) && std::ranges::any_of(b.edges, [&](std::size_t y) {
        return pipeline_.edges[y].from == mine.from && pipeline_.edges[y].from_port == mine.from_port;
      });
    });
  }

  // Every pairing of a course of one part of the stream with one of the other.
  Courses together(const Courses& a, const Courses& b) const {
    Courses all;
    for (const Course& x : a)
      for (const Course& y : b)
        if (all.size() < most_courses && agree(x, y)) all.push_back(joined(x, y));
    return all;
  }

  const Courses& from(std::size_t i) {
    if (!courses_[i].empty()) return courses_[i];
    Courses all{Course{{i}, {}}};
    for (std::size_t port = 0; port < pipeline_.gadgets[i].info->outputs.size(); ++port) {
      Courses copies;  // the edges of one output carry the same events: each is a course of its own
      for (std::size_t e = 0; e < pipeline_.edges.size(); ++e) {
        const PipelineEdge& edge = pipeline_.edges[e];
        if (edge.from != i || edge.from_port != port || edge.is_feedback || !counts_[edge.to]) continue;
        for (const Course& course : from(edge.to))
          if (copies.size() < most_courses) copies.push_back(joined(course, Course{{}, {e}}));
      }
      if (!copies.empty()) all = together(all, copies);
    }
    return courses_[i] = std::move(all);
  }

  BookBalance sum(const Course& course, std::uint64_t received) const {
    BookBalance books;
    books.received = received;
    std::uint64_t accounted = 0;
    for (const std::size_t i : course.gadgets) {
      const BookEntries& entries = gadgets_[i].books;
      books.reconstructed += entries.reconstructed;
      books.written += entries.written;
      for (const auto& [reason, events] : entries.rejected) books.rejected[reason] += events;
      for (const auto& [reason, events] : entries.lost) books.lost[reason] += events;
      accounted += entries.reconstructed + entries.written + entries.rejected_total() + entries.lost_total();
    }
    for (const std::size_t e : course.edges) books.discarded += edges_[e].figures.dropped_events;
    accounted += books.discarded;
    if (accounted != received)
      books.difference = fmt::format("{} events were received but {} accounted for ({} {}) on the way {}", received,
                                     accounted, accounted < received ? received - accounted : accounted - received,
                                     accounted < received ? "missing" : "too many", names(course));
    return books;
  }

  std::string names(const Course& course) const {
    std::vector<std::string> all;
    for (const std::size_t i : course.gadgets) all.push_back(gadgets_[i].name);
    return fmt::format("{}", fmt::join(all, ", "));
  }

  const Pipeline& pipeline_;
  const std::vector<GadgetReport>& gadgets_;
  const std::vector<EdgeReport>& edges_;
  std::vector<Courses> courses_;  // that begin at each gadget
  std::vector<bool> counts_;      // the gadget settles events or leads to one that does
};

}  // namespace

std::uint64_t events_received(const GadgetInfo& info, const GadgetReport& report) {
  const auto counts = [](const PortInfo& port) { return port.payload->counts_events; };
  const BookEntries& books = report.books;
  const bool first_to_count = std::ranges::any_of(info.outputs, counts) && std::ranges::none_of(info.inputs, counts);
  if (books.received > 0 || !first_to_count) return books.received;
  return report.events_out + books.rejected_total() + books.lost_total();
}

BookBalance settle_books(const Pipeline& pipeline, const std::vector<GadgetReport>& gadgets,
                         const std::vector<EdgeReport>& edges) {
  return Settlement(pipeline, gadgets, edges).settle();
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
