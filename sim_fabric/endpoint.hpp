// One RDM endpoint (fi_endpoint(3)): binds a sending and a receiving half to queues and an address vector, and drives
// them. Any thread; one lock per endpoint.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "sim_fabric/domain.hpp"
#include "sim_fabric/knobs.hpp"
#include "sim_fabric/queue.hpp"
#include "sim_fabric/receiver.hpp"

namespace duofi::sim {

/// What becomes of an arrived packet; `twice` only for mutants.
enum class Admitted : std::uint8_t { once, twice, lost };

class Endpoint : public fid_ep {
  public:
    [[nodiscard]] static int open(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context);
    [[nodiscard]] static Endpoint& of(fid_ep* endpoint) noexcept { return *static_cast<Endpoint*>(endpoint); }

    /// Of a read of the queue: everything that can be done now, by one thread at a time.
    void progress_by_caller() noexcept;
    /// Of the NIC's thread. True: it should look again soon.
    [[nodiscard]] bool progress_by_nic(Nanoseconds now) noexcept;
    /// Asks senders to ring from now on. False: something is to be done already; `due` becomes the next delivery.
    [[nodiscard]] bool fall_asleep(Nanoseconds& due) noexcept;
    [[nodiscard]] int socket() const noexcept { return dead_ ? -1 : port_.descriptor(); }
    [[nodiscard]] Nanoseconds polled_at() const noexcept { return polled_at_.load(std::memory_order_relaxed); }

    /// Calls that move data; 0 or negative codes.
    [[nodiscard]] ssize_t transmit(Site site, const Post& post) noexcept;
    [[nodiscard]] ssize_t receive(Site site, const Receive& receive) noexcept;

    // --- for the two halves, lock held ---
    [[nodiscard]] Domain& domain() noexcept { return domain_; }
    [[nodiscard]] Port& port() noexcept { return port_; }
    [[nodiscard]] Transmitter& transmitter() noexcept { return transmitter_; }
    [[nodiscard]] CompletionQueue& tx_queue() noexcept { return *tx_queue_; }
    [[nodiscard]] CompletionQueue& rx_queue() noexcept { return *rx_queue_; }
    [[nodiscard]] const Personality& personality() const noexcept { return *knobs().personality; }
    [[nodiscard]] const fi_info& limits() const noexcept { return limits_; }
    [[nodiscard]] Chance& chance() noexcept { return chance_; }
    [[nodiscard]] Name name_of(fi_addr_t address) const { return av_->name_of(address); }
    [[nodiscard]] fi_addr_t source_of(const Name& name) const;
    [[nodiscard]] bool may_deliver() { return !stopped() && !rx_queue_->full() && !tx_queue_->full(); }
    /// Counts an arrived packet; what the knobs want at that number happens.
    [[nodiscard]] Admitted admit(Packet& packet);
    [[nodiscard]] bool stopped() const noexcept { return dead_ || frozen_until_ != 0; }

  private:
    Endpoint(Domain& domain, const fi_info& info);
    static int close(Fid* object);
    static int bind(Fid* object, Fid* to, std::uint64_t flags);
    static int control(Fid* object, int command, void* argument);
    static ssize_t cancel(Fid* object, void* context);
    static int getopt(Fid* object, int level, int option, void* value, std::size_t* bytes);
    static int setopt(Fid* object, int level, int option, const void* value, std::size_t bytes);
    static int getname(Fid* object, void* name, std::size_t* bytes);
    [[nodiscard]] static Endpoint& of(Fid* object) noexcept { return of(reinterpret_cast<fid_ep*>(object)); }
    bool progress(Nanoseconds now, bool look_at_socket);

    Domain& domain_;
    fi_info limits_{};
    fi_tx_attr tx_;
    fi_rx_attr rx_;
    fi_ep_attr shape_;
    AddressVector* av_ = nullptr;
    CompletionQueue* tx_queue_ = nullptr;
    CompletionQueue* rx_queue_ = nullptr;
    std::mutex mutex_;
    Port port_;  ///< open from enabling on
    Chance chance_;
    Transmitter transmitter_;
    Receiver receiver_;
    std::uint64_t arrived_ = 0;
    Nanoseconds frozen_until_ = 0;
    std::atomic<bool> dead_{false};
    unsigned polls_ = 0;
    std::atomic<Nanoseconds> polled_at_{0};
};

/// Fills in the tables of the calls that move data (fi_msg(3), fi_tagged(3), fi_rma(3), fi_atomic(3)): each becomes a
/// Post or a Receive.
void add_post_calls(fid_ep& endpoint) noexcept;

}  // namespace duofi::sim
