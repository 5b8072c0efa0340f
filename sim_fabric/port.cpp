#include "sim_fabric/port.hpp"

#include <rdma/fi_errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace duofi::sim {
namespace {

constexpr char kPrefix[] = "duofisim-";
constexpr std::uint32_t kMagic = 0x6d697364;  // "dsim"

struct Offer {
    std::uint32_t magic = kMagic;
    std::uint32_t name_bytes = 0;
    char name[32] = {};
    local::HandleBytes handle{};
};

struct SocketAddress {
    sockaddr_un storage{};
    socklen_t length;
    explicit SocketAddress(const Name& name) noexcept {
        static_assert(sizeof(kPrefix) + 64 < sizeof(storage.sun_path));
        constexpr char kDigits[] = "0123456789abcdef";
        storage.sun_family = AF_UNIX;
        char* place = storage.sun_path + 1;
        std::memcpy(place, kPrefix, sizeof(kPrefix) - 1);
        place += sizeof(kPrefix) - 1;
        for (const char byte : name) {
            *place++ = kDigits[static_cast<unsigned char>(byte) >> 4];
            *place++ = kDigits[static_cast<unsigned char>(byte) & 15];
        }
        length = static_cast<socklen_t>(place - reinterpret_cast<char*>(&storage));
    }
};

}  // namespace

int Port::open(const Personality& personality, unsigned nic) {
    constexpr int kTries = 64;
    UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return -errno;
    for (int tries = 0; tries < kTries; ++tries) {
        const Name name = random_name(personality, nic);
        SocketAddress address(name);
        if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address.storage), address.length) == 0) {
            name_ = name;
            socket_ = std::move(socket);
            return 0;
        }
        if (errno != EADDRINUSE) return -errno;
    }
    return -FI_EADDRINUSE;
}

void Port::close() noexcept { ::shutdown(socket_.get(), SHUT_RD); }

std::optional<std::pair<Name, Inlet>> Port::accept() {
    while (true) {
        Offer offer;
        iovec part{&offer, sizeof(offer)};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
        msghdr header{nullptr, 0, &part, 1, control, sizeof(control), 0};
        const ssize_t got = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (got < 0) return std::nullopt;
        UniqueFd descriptor;
        const cmsghdr* rights = CMSG_FIRSTHDR(&header);
        if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
            descriptor.reset(fd);
        }
        if (got != sizeof(offer) || offer.magic != kMagic || offer.name_bytes > sizeof(offer.name) || !descriptor) continue;
        if (auto inlet = Inlet::import(std::move(descriptor), offer.handle))
            return std::pair(Name(offer.name, offer.name_bytes), std::move(*inlet));
    }
}

Reached Port::connect(const Name& to, std::optional<Outlet>& outlet) {
    if (const Reached there = ring(to); there != Reached::yes) return there;
    Offer offer;
    auto made = Outlet::create(offer.handle);
    if (!made) return Reached::again;
    offer.name_bytes = static_cast<std::uint32_t>(name_.size());
    std::memcpy(offer.name, name_.data(), name_.size());
    const Reached sent = send(to, &offer, sizeof(offer), made->descriptor());
    made->close_descriptor();
    if (sent == Reached::yes) outlet = std::move(*made);
    return sent;
}

Reached Port::send(const Name& to, const void* message, std::size_t bytes, int descriptor) noexcept {
    SocketAddress address(to);
    iovec part{const_cast<void*>(message), bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{&address.storage, address.length, &part, 1, nullptr, 0, 0};
    if (descriptor >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof(control);
        cmsghdr* rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
    }
    while (::sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        if (errno == EINTR) continue;
        const bool gone = errno == ECONNREFUSED || errno == ENOENT || errno == EPIPE;
        return gone ? Reached::nobody : Reached::again;
    }
    return Reached::yes;
}

}  // namespace duofi::sim
