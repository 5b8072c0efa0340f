#include "p2p/transport/net_api.hpp"

#include <climits>
#include <cstdint>
#include <type_traits>

#include "common/abi/net_v10.h"
#include "common/abi/net_v11.h"
#include "common/abi/net_v12.h"
#include "common/abi/net_v6.h"
#include "common/abi/net_v7.h"
#include "common/abi/net_v8.h"
#include "common/abi/net_v9.h"

namespace duofi::p2p {
namespace {

// Where the versions differ: registrations are counted in size_t from v8 on, messages from v9 on;
// connect and accept give device handles from v7 on; v10 adds a configuration and profiler handles;
// v11 and v12 have a context.
template <typename Table, typename Properties, int Version>
class Over final : public NetApi {
    using RegisteredSize = std::conditional_t<Version >= 8, std::size_t, int>;
    using MessageSize = std::conditional_t<Version >= 9, std::size_t, int>;

    template <typename Size>
    [[nodiscard]] static bool fits(std::size_t bytes) noexcept {
        return sizeof(Size) == sizeof(std::size_t) || bytes <= INT_MAX;
    }

  public:
    Over(const Table* table, void* context) noexcept : table_(table), context_(context) {}

    std::string pci_path(int device) const override {
        Properties properties{};
        if (table_->getProperties(device, &properties) != ncclSuccess) return {};
        return properties.pciPath != nullptr ? properties.pciPath : "";
    }

    ncclResult_t listen(int device, void* handle, void** comm) const override {
        if constexpr (Version >= 11)
            return table_->listen(context_, device, handle, comm);
        else
            return table_->listen(device, handle, comm);
    }

    ncclResult_t connect(int device, void* handle, void** comm) const override {
        if constexpr (Version == 6) {
            return table_->connect(device, handle, comm);
        } else {
            ncclNetDeviceHandle_v7_t* of_device = nullptr;
            if constexpr (Version >= 11) {
                return table_->connect(context_, device, handle, comm, &of_device);
            } else if constexpr (Version == 10) {
                ncclNetCommConfig_v10_t config{NCCL_NET_TRAFFIC_CLASS_UNDEF};
                return table_->connect(device, &config, handle, comm, &of_device);
            } else {
                return table_->connect(device, handle, comm, &of_device);
            }
        }
    }

    ncclResult_t accept(void* listener, void** comm) const override {
        if constexpr (Version == 6) {
            return table_->accept(listener, comm);
        } else {
            ncclNetDeviceHandle_v7_t* of_device = nullptr;
            return table_->accept(listener, comm, &of_device);
        }
    }

    ncclResult_t register_memory(void* comm, void* data, std::size_t bytes,
                                 void** mhandle) const override {
        if (!fits<RegisteredSize>(bytes)) return ncclInvalidArgument;
        return table_->regMr(comm, data, static_cast<RegisteredSize>(bytes), NCCL_PTR_HOST, mhandle);
    }
    ncclResult_t deregister(void* comm, void* mhandle) const override {
        return table_->deregMr(comm, mhandle);
    }

    ncclResult_t send(void* comm, void* data, std::size_t bytes, int tag, void* mhandle,
                      void** request) const override {
        if (!fits<MessageSize>(bytes)) return ncclInvalidArgument;
        const auto size = static_cast<MessageSize>(bytes);
        if constexpr (Version >= 10)
            return table_->isend(comm, data, size, tag, mhandle, nullptr, request);
        else
            return table_->isend(comm, data, size, tag, mhandle, request);
    }

    ncclResult_t receive(void* comm, void* data, std::size_t bytes, int tag, void* mhandle,
                         void** request) const override {
        if (!fits<MessageSize>(bytes)) return ncclInvalidArgument;
        auto size = static_cast<MessageSize>(bytes);
        if constexpr (Version >= 10) {
            void* profiled = nullptr;
            return table_->irecv(comm, 1, &data, &size, &tag, &mhandle, &profiled, request);
        } else {
            return table_->irecv(comm, 1, &data, &size, &tag, &mhandle, request);
        }
    }

    ncclResult_t test(void* request, int* done, int* bytes) const override {
        return table_->test(request, done, bytes);
    }
    ncclResult_t close_send(void* comm) const override { return table_->closeSend(comm); }
    ncclResult_t close_receive(void* comm) const override { return table_->closeRecv(comm); }
    ncclResult_t close_listen(void* comm) const override { return table_->closeListen(comm); }

  private:
    const Table* table_;
    void* context_;
};

template <typename Table, typename Properties, int Version>
std::unique_ptr<NetApi> over(const void* table, void* context) {
    return std::make_unique<Over<Table, Properties, Version>>(static_cast<const Table*>(table),
                                                              context);
}

}  // namespace

std::unique_ptr<NetApi> make_net_api(const void* table, int version, void* context) {
    switch (version) {
        case 6:
            return over<ncclNet_v6_t, ncclNetProperties_v6_t, 6>(table, context);
        case 7:
            return over<ncclNet_v7_t, ncclNetProperties_v7_t, 7>(table, context);
        case 8:
            return over<ncclNet_v8_t, ncclNetProperties_v8_t, 8>(table, context);
        case 9:
            return over<ncclNet_v9_t, ncclNetProperties_v9_t, 9>(table, context);
        case 10:
            return over<ncclNet_v10_t, ncclNetProperties_v10_t, 10>(table, context);
        case 11:
            return over<ncclNet_v11_t, ncclNetProperties_v11_t, 11>(table, context);
        case 12:
            return over<ncclNet_v12_t, ncclNetProperties_v12_t, 12>(table, context);
        default:
            return nullptr;
    }
}

}  // namespace duofi::p2p
