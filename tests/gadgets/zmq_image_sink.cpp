// Estimates over ZeroMQ: a subscriber gets each, a late one the last one, and an absent one delays nothing.
#include <thread>

#include <zmq.hpp>

#include "core/testing.hpp"
#include "gadgets/io/wire/image.hpp"
#include "gadgets/payloads.hpp"
#include "tests/command/command.hpp"
#include "tests/support/python.hpp"

using namespace tofstream;

namespace {

using Sink = RegisteredGadgetTest<void>;

Estimate sent_estimate(int iteration, float value) {
  return {
      {.iteration = iteration, .iterations = 3, .subset = 0, .subsets = 1, .ends_iteration = true},
      std::make_shared<const Image>(Image::filled(Grid::centred(4, 3, 2, {2, 2, 3}), value)),
      std::make_shared<const Quantity>(Quantity{.unit = "Bq/mL", .reference_s = 1, .rejecting = {"gate (python)"}})};
}

struct Subscriber {
  zmq::context_t zmq;
  zmq::socket_t socket{zmq, zmq::socket_type::sub};

  explicit Subscriber(const std::string& endpoint) {
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::subscribe, "");
    socket.connect(endpoint);
  }
  /// The next image's header and first voxel.
  std::pair<wire::ImageHeader, float> next() {
    zmq::message_t message;
    REQUIRE(socket.recv(message));
    const auto decoded = wire::decode_image({static_cast<const std::byte*>(message.data()), message.size()});
    REQUIRE_MESSAGE(std::holds_alternative<wire::ReceivedImage>(decoded), std::get<wire::BadImage>(decoded).what);
    const auto& received = std::get<wire::ReceivedImage>(decoded);
    return {received.header, *received.image().voxels.data()};
  }
  /// The first image of this update, whatever comes before it again.
  std::pair<wire::ImageHeader, float> wait_for(std::uint64_t update, bool is_final = false) {
    for (;;)
      if (auto image = next(); image.first.update == update && image.first.is_final == is_final) return image;
  }
};

struct Fixture {
  TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder / "images").string();
  const std::string params = "{endpoint: '" + endpoint + "'}";
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "a subscriber gets what was published last, then each image as it comes, and the final one") {
  Sink sink("zmq_image_sink", params);
  sink.send(sent_estimate(0, 1));  // the start image is not sent
  sink.send(sent_estimate(1, 2));
  Subscriber subscriber(endpoint);
  auto [header, voxel] = subscriber.next();
  CHECK(header.update == 1);
  CHECK(header.unit == "Bq/mL");
  CHECK_FALSE(header.is_quantitative);
  CHECK(header.not_quantitative_because.find("gate (python) left out valid events") == 0);
  CHECK(header.grid == Grid::centred(4, 3, 2, {2, 2, 3}));
  CHECK(voxel == 2);
  CHECK(header.filtered.empty());
  Estimate smooth = sent_estimate(2, 3);
  smooth.filters = {{{5, 5, 5}}};
  sink.send(std::move(smooth));
  auto [second, second_voxel] = subscriber.wait_for(2);
  CHECK(second.filtered == "smoothed by 5 mm FWHM");
  CHECK(second.not_quantitative_because == header.not_quantitative_because);
  CHECK(second_voxel == 3);
  Subscriber late(endpoint);
  CHECK(late.wait_for(2).second == 3);
  sink.send(sent_estimate(3, 4));
  sink.finish();
  CHECK(subscriber.wait_for(3, true).second == 4);
  CHECK(late.wait_for(3, true).second == 4);
  CHECK(subscriber.socket.get(zmq::sockopt::type) == ZMQ_SUB);
}

TEST_CASE_FIXTURE(Fixture, "without subscribers nothing waits and nothing is kept but the last image") {
  Sink sink("zmq_image_sink", params);
  for (int i = 1; i <= 1000; ++i) sink.send(sent_estimate(i, 1));
  sink.finish();
  CHECK(std::get<std::int64_t>(sink.context.figures().at("images")) == 1001);
}

TEST_CASE_FIXTURE(Fixture, "an endpoint that is taken, or open to others, says what to do") {
  const Sink first("zmq_image_sink", params);
  // libzmq takes over a Unix socket that is in use, but no port.
  const Sink port("zmq_image_sink", "{endpoint: 'tcp://127.0.0.1:34567'}");
  CHECK_THROWS_WITH_AS(Sink("zmq_image_sink", "{endpoint: 'tcp://127.0.0.1:34567'}"),
                       doctest::Contains("name another endpoint"), std::runtime_error);
  CHECK_THROWS_AS(Sink("zmq_image_sink", "{endpoint: 'tcp://0.0.0.0:34568'}"), std::invalid_argument);
}

TEST_CASE_FIXTURE(Fixture, "the Python receiver keeps the final image") {
  if (skip_without_numpy()) return;
  if (!std::filesystem::exists("share/examples/python")) return skip_test("sources beside the test");
  Sink sink("zmq_image_sink", params);
  Estimate smooth = sent_estimate(1, 2);
  smooth.filters = {{{5, 5, 5}}};
  sink.send(std::move(smooth));
  const std::string file = (folder / "image.npy").string(), log = (folder / "log").string();
  int ended = -1;
  std::thread receiver([&] {
    ended = std::system(fmt::format("{} share/examples/python/receive_images.py {} {} >{} 2>&1", python_with_numpy(),
                                    endpoint, file, log)
                            .c_str());
  });
  // It says so once it has an image.
  while (text_of(log).find("update 1") == std::string::npos && ended == -1)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  sink.send(sent_estimate(2, 5));
  sink.finish();
  receiver.join();
  REQUIRE_MESSAGE(ended == 0, text_of(log));
  CHECK(text_of(log).find(" events, smoothed by 5 mm FWHM, Bq/mL, not quantitative: gate (python) left out") !=
        std::string::npos);
  const std::string shape =
      fmt::format("{} -c \"import numpy; i = numpy.load('{}'); assert i.shape == (2, 3, 4) and (i == 5).all(), i\"",
                  python_with_numpy(), file);
  CHECK(std::system(shape.c_str()) == 0);
}
// SPDX-License-Identifier: Apache-2.0
