// HTTP and WebSockets by Boost.Beast: see web_server.hpp. Everything but the public functions runs on the one thread.
#include "gadgets/monitor/web_server.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <fmt/format.h>

namespace tofstream {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using beast::error_code;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t largest_request = 8192;   // bytes of a header
constexpr std::size_t largest_message = 16384;  // bytes that a WebSocket may send at once
constexpr std::size_t text = 0, binary = 1;     // what is published
constexpr const char* after_image = "image";    // what a ping says, and its pong repeats

// Nothing is loaded from elsewhere and nobody may frame the page, so that no other page can lend it a click. Its
// drawing library makes fonts and workers from data within the page.
constexpr const char* security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self' data: blob:; worker-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

class Visit;

// What the visits share.
struct Hub {
  WebSettings settings;
  WebContent content;
  std::vector<Visit*> visits;
  std::array<WebBytes, 2> newest;
  std::atomic<std::size_t> watchers = 0;
  bool is_draining = false;
};

// One connection: requests one after the other, or, once upgraded, a WebSocket.
class Visit : public std::enable_shared_from_this<Visit> {
 public:
  Visit(Hub& hub, tcp::socket socket) : hub_(hub), ws_(std::move(socket)) { hub_.visits.push_back(this); }
  ~Visit() {
    if (watching_) --hub_.watchers;
    std::erase(hub_.visits, this);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  bool is_watching() const { return watching_; }
  bool is_idle() const { return leaving_ || (!sending_ && !answer_ && !waiting_[text] && !waiting_[binary]); }
  Clock::time_point last_heard() const { return heard_; }

  void begin() { read_request(); }
  void drain() { pump(); }
  void cut() { stream().close(); }
  void say_goodbye() {
    if (!watching_ || std::exchange(leaving_, true)) return cut();
    ws_.async_close(websocket::close_code::going_away, [self = shared_from_this()](error_code) { self->cut(); });
  }
  void offer(std::size_t kind, const WebBytes& message) {
    waiting_[kind] = message;
    pump();
  }

 private:
  using Request = http::request<http::empty_body>;

  beast::tcp_stream& stream() { return ws_.next_layer(); }

  void read_request() {
    parser_.emplace();
    parser_->header_limit(largest_request);
    parser_->body_limit(0);
    stream().expires_after(hub_.settings.request_timeout);
    http::async_read(stream(), buffer_, *parser_, [self = shared_from_this()](error_code wrong, std::size_t) {
      if (!wrong) return self->take_request(self->parser_->get());
      const bool rubbish = wrong.category() == http::make_error_code(http::error::bad_method).category() &&
                           wrong != http::error::end_of_stream && wrong != http::error::partial_message;
      if (rubbish) self->refuse({}, http::status::bad_request, "This is no request that is understood here.\n");
    });
  }

  void take_request(const Request& request) {
    heard_ = Clock::now();
    const std::string_view host = view(request[http::field::host]);
    if (!is_own_host(host, hub_.settings.host_names))
      return refuse(request, http::status::forbidden,
                    fmt::format("This page is not served under that name: use this machine's address, or name the host "
                                "in {}.\n",
                                hub_.settings.hosts_option));
    const std::string_view path = view(request.target()).substr(0, request.target().find('?'));
    if (websocket::is_upgrade(request)) {
      if (path != "/live" || !hub_.content.greeting)
        return refuse(request, http::status::not_found, "There is no WebSocket here.\n");
      if (!is_own_origin(view(request[http::field::origin]), host))
        return refuse(request, http::status::forbidden, "Another page may not steer this run.\n");
      return upgrade(request);
    }
    if (request.method() != http::verb::get && request.method() != http::verb::head)
      return refuse(request, http::status::method_not_allowed, "Only GET and HEAD.\n");
    std::optional<WebFile> file = hub_.content.file(path);
    if (!file) return refuse(request, http::status::not_found, "There is no such file.\n");
    const auto status = file->content ? http::status::ok : http::status::no_content;
    if (!file->content) file->content = std::make_shared<const std::string>();
    respond(request, status, std::move(*file), request.keep_alive());
  }

  static std::string_view view(beast::string_view s) { return {s.data(), s.size()}; }

  void refuse(const Request& request, http::status status, std::string why) {
    respond(request, status, {"text/plain; charset=utf-8", std::make_shared<const std::string>(std::move(why))}, false);
  }

  void respond(const Request& request, http::status status, WebFile file, bool keep_alive) {
    using Response = http::response<http::span_body<const char>>;
    auto response = std::make_shared<Response>(status, request.version());
    response->set(http::field::content_type, file.type);
    response->set(http::field::cache_control, "no-cache");
    response->set("X-Content-Type-Options", "nosniff");
    response->set("Content-Security-Policy", security_policy);
    response->keep_alive(keep_alive);
    if (request.method() != http::verb::head) response->body() = {file.content->data(), file.content->size()};
    if (status != http::status::no_content) response->content_length(file.content->size());
    stream().expires_after(hub_.settings.silence_timeout);
    // The serializer of a HEAD's answer must not wait for the body that its length announces.
    auto serializer = std::make_shared<http::response_serializer<http::span_body<const char>>>(*response);
    const bool head = request.method() == http::verb::head;
    const auto done = [self = shared_from_this(), response, serializer, content = file.content, keep_alive](
                          error_code wrong, std::size_t) {
      if (wrong) return;
      if (keep_alive) return self->read_request();
      self->hang_up();
    };
    if (head) {
      serializer->split(true);
      http::async_write_header(stream(), *serializer, done);
    } else {
      http::async_write(stream(), *serializer, done);
    }
  }

  // Half, so that the answer is not lost with what the other end still sends; the time limit ends it.
  void hang_up() {
    error_code ignored;
    stream().socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream().expires_after(1s);
    drop_rest();
  }
  void drop_rest() {
    buffer_.clear();
    stream().async_read_some(buffer_.prepare(4096), [self = shared_from_this()](error_code wrong, std::size_t) {
      if (!wrong) self->drop_rest();
    });
  }

  void upgrade(const Request& request) {
    stream().expires_never();
    ws_.set_option(websocket::stream_base::timeout{hub_.settings.request_timeout, hub_.settings.silence_timeout, true});
    ws_.read_message_max(largest_message);
    ws_.auto_fragment(false);
    ws_.control_callback([this](websocket::frame_type type, beast::string_view payload) {
      if (type != websocket::frame_type::pong || payload != after_image) return;
      image_on_its_way_ = false;
      pump();
    });
    ws_.async_accept(request, [self = shared_from_this()](error_code wrong) {
      if (wrong) return;
      self->watching_ = true;
      ++self->hub_.watchers;
      self->answer_ = std::make_shared<const std::string>(self->hub_.content.greeting());
      self->waiting_ = self->hub_.newest;
      self->pump();
    });
  }

  // The next message is read when the answer to the last one is on its way: so many answers wait, one.
  void read_message() {
    incoming_.clear();
    ws_.async_read(incoming_, [self = shared_from_this()](error_code wrong, std::size_t) {
      if (wrong) return self->cut();
      self->heard_ = Clock::now();
      if (!self->ws_.got_text()) return self->say_goodbye();
      const auto data = self->incoming_.data();
      std::string answer = self->hub_.content.answer({static_cast<const char*>(data.data()), data.size()});
      if (answer.empty()) return self->read_message();
      self->answer_ = std::make_shared<const std::string>(std::move(answer));
      self->pump();
    });
  }

  void pump() {
    if (sending_ || !watching_ || leaving_) return;
    const bool answers = answer_ != nullptr;
    const std::size_t kind = waiting_[text] ? text : binary;
    const bool is_image = !answers && kind == binary;
    if (is_image && image_on_its_way_ && !hub_.is_draining) return;
    sending_ = std::exchange(answers ? answer_ : waiting_[kind], nullptr);
    if (!sending_) return;
    ws_.text(!is_image);
    ws_.async_write(asio::buffer(*sending_),
                    [self = shared_from_this(), answers, is_image](error_code wrong, std::size_t) {
                      self->sending_ = nullptr;
                      if (wrong) return self->cut();
                      if (answers) self->read_message();
                      if (is_image) self->ask_for_arrival();
                      self->pump();
                    });
  }

  // The sockets between hold megabytes: who only writes fills them with images that a slow browser shows seconds late,
  // and with which the run's last words are lost when the connection ends. A ping is answered when what was sent before
  // it has been read.
  void ask_for_arrival() {
    if (std::exchange(image_on_its_way_, true)) return;
    ws_.async_ping(after_image, [self = shared_from_this()](error_code wrong) {
      if (wrong) self->cut();
    });
  }

  Hub& hub_;
  websocket::stream<beast::tcp_stream> ws_;
  beast::flat_buffer buffer_{2 * largest_request};
  beast::flat_buffer incoming_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  Clock::time_point heard_ = Clock::now();
  bool watching_ = false, leaving_ = false, image_on_its_way_ = false;
  WebBytes answer_, sending_;
  std::array<WebBytes, 2> waiting_;
};

}  // namespace

class WebServer::State {
 public:
  State(const WebSettings& settings, WebContent content) : hub_{settings, std::move(content), {}, {}, {}} {
    const tcp::endpoint endpoint(asio::ip::make_address(settings.address.host), settings.address.port);
    try {
      acceptor_.open(endpoint.protocol());
      acceptor_.set_option(tcp::acceptor::reuse_address(true));
      acceptor_.bind(endpoint);
      acceptor_.listen();
    } catch (const boost::system::system_error& error) {
      throw std::runtime_error(
          fmt::format("cannot listen at {}:{}: {}; give another `address`, or port 0 for any free one",
                      settings.address.host, settings.address.port, error.code().message()));
    }
    port_ = acceptor_.local_endpoint().port();
    accept();
    thread_ = std::thread([this] { serve(); });
  }

  ~State() {
    asio::post(io_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      for (Visit* visit : std::vector(hub_.visits)) visit->say_goodbye();
      farewell_.expires_after(500ms);
      farewell_.async_wait([this](error_code) { io_.stop(); });
      end_when_alone();
    });
    thread_.join();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  unsigned short port() const { return port_; }
  std::size_t watchers() const { return hub_.watchers; }

  void publish(std::size_t kind, WebBytes message) {
    {
      const std::lock_guard lock(mutex_);
      published_[kind] = std::move(message);
      if (std::exchange(is_posted_, true)) return;  // however busy the thread is, one task of this kind waits for it
    }
    asio::post(io_, [this] { deliver(); });
  }

  void drain(std::chrono::milliseconds limit) {
    const auto deadline = Clock::now() + limit;
    while (Clock::now() < deadline) {
      std::promise<bool> idle;
      asio::post(io_, [&] {
        hub_.is_draining = true;
        for (Visit* visit : std::vector(hub_.visits)) visit->drain();
        idle.set_value(std::ranges::all_of(hub_.visits, &Visit::is_idle));
      });
      if (idle.get_future().get()) break;
      std::this_thread::sleep_for(5ms);
    }
    asio::post(io_, [this] { hub_.is_draining = false; });
  }

  void wait_until_left(std::chrono::milliseconds limit) const {
    const auto deadline = Clock::now() + limit;
    while (hub_.watchers > 0 && Clock::now() < deadline) std::this_thread::sleep_for(5ms);
  }

 private:
  // What one visitor brings about, such as a lack of memory, is not the others' end.
  void serve() {
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception&) {
      }
    }
  }

  void accept() {
    acceptor_.async_accept([this](error_code wrong, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (wrong) {  // no descriptor left, perhaps: not at once again
        pause_.expires_after(100ms);
        pause_.async_wait([this](error_code ended) {
          if (!ended) accept();
        });
        return;
      }
      accept();  // first, so that whatever goes wrong with this one, the next is let in
      if (!make_room()) return;
      error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      std::make_shared<Visit>(hub_, std::move(socket))->begin();
    });
  }

  // False where everybody watches.
  bool make_room() {
    if (hub_.visits.size() < hub_.settings.connections) return true;
    Visit* silent = nullptr;
    for (Visit* visit : hub_.visits)
      if (!visit->is_watching() && (!silent || visit->last_heard() < silent->last_heard())) silent = visit;
    if (silent) silent->cut();
    return silent != nullptr;
  }

  void deliver() {
    std::array<WebBytes, 2> fresh;
    {
      const std::lock_guard lock(mutex_);
      is_posted_ = false;
      fresh = std::exchange(published_, {});
    }
    for (const std::size_t kind : {text, binary}) {
      if (!fresh[kind]) continue;
      hub_.newest[kind] = fresh[kind];
      for (Visit* visit : hub_.visits)
        if (visit->is_watching()) visit->offer(kind, fresh[kind]);
    }
  }

  void end_when_alone() {
    if (hub_.visits.empty()) return io_.stop();
    pause_.expires_after(5ms);
    pause_.async_wait([this](error_code) { end_when_alone(); });
  }

  Hub hub_;
  asio::io_context io_{1};  // behind the hub: what waits in it belongs to visits
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_}, farewell_{io_};
  unsigned short port_ = 0;
  std::mutex mutex_;
  std::array<WebBytes, 2> published_;
  bool is_posted_ = false;
  std::thread thread_;
};

WebServer::WebServer(const WebSettings& settings, WebContent content)
    : state_(std::make_unique<State>(settings, std::move(content))) {}
WebServer::~WebServer() = default;

unsigned short WebServer::port() const {
  return state_->port();
}
std::size_t WebServer::watchers() const {
  return state_->watchers();
}
void WebServer::publish_text(WebBytes message) {
  state_->publish(text, std::move(message));
}
void WebServer::publish_binary(WebBytes message) {
  state_->publish(binary, std::move(message));
}
void WebServer::drain(std::chrono::milliseconds limit) {
  state_->drain(limit);
}
void WebServer::wait_until_left(std::chrono::milliseconds limit) const {
  state_->wait_until_left(limit);
}

}  // namespace tofstream
// SPDX-License-Identifier: Apache-2.0
