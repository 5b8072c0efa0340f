// Opens a net plugin by its short name, exactly as RCCL does, and prints what RCCL would learn from
// it.
//
//   LD_LIBRARY_PATH=<folder of librccl-net-duofi.so> ./01_load_plugins [short name or path]
//
// RCCL reads the name from NCCL_NET_PLUGIN; `duofi` stands for `librccl-net-duofi.so`.
#include <cstdio>
#include <string>

#include "common/loader/host_logger.hpp"
#include "common/loader/plugin_host.hpp"

namespace {

void print_device(const ncclNet_v6_t& net, int device) {
    ncclNetProperties_v6_t p{};
    if (net.getProperties(device, &p) != ncclSuccess) {
        std::printf("  device %d: getProperties failed\n", device);
        return;
    }
    // name and pciPath belong to the plugin and stay valid until it is unloaded.
    std::printf("  device %d: %s\n", device, p.name);
    std::printf("    pciPath   %s\n", p.pciPath ? p.pciPath : "(none: not a PCI device)");
    std::printf("    guid      %llx\n", static_cast<unsigned long long>(p.guid));
    std::printf("    speed     %d Mbit/s, latency %g us, port %d\n", p.speed,
                static_cast<double>(p.latency), p.port);
    std::printf("    memory    %s%s%s\n", p.ptrSupport & NCCL_PTR_HOST ? "host " : "",
                p.ptrSupport & NCCL_PTR_CUDA ? "device " : "",
                p.ptrSupport & NCCL_PTR_DMABUF ? "dma-buf" : "");
    std::printf("    limits    %d comms, %d buffers in one grouped receive\n", p.maxComms,
                p.maxRecvs);
}

}  // namespace

int main(int argc, char** argv) {
    using namespace duofi;

    // 1. The list of names and the dlopen calls are RCCL's; its own lines appear with
    // NCCL_DEBUG=INFO.
    loader::NetRequest request = loader::NetRequest::from_environment(loader::Host::rccl);
    if (argc > 1)
        request.plugin = argv[1];
    else if (!request.plugin)
        request.plugin = "duofi";
    const auto plugin = loader::open_net(request, loader::host_line);
    if (!plugin) {
        std::fprintf(stderr, "no plugin \"%s\" found; RCCL would now use its own sockets\n",
                     request.plugin->c_str());
        return 1;
    }
    std::printf("network %s, table version %d, library %s\n", plugin->name().c_str(),
                plugin->version(), plugin->library_path().c_str());

    // 2. Hosts take the newest table that both know. This example reads the oldest, which every
    // host knows.
    const auto* net = static_cast<const ncclNet_v6_t*>(plugin->symbol("ncclNetPlugin_v6"));
    if (!net) {
        std::fprintf(stderr, "the library exports no ncclNetPlugin_v6\n");
        return 1;
    }

    // 3. init gets the host's logger: the plugin has no other way to talk to the user.
    int devices = 0;
    if (net->init(loader::host_logger()) != ncclSuccess || net->devices(&devices) != ncclSuccess) {
        std::fprintf(stderr, "init failed; NCCL_DEBUG=INFO tells why\n");
        return 1;
    }
    std::printf("%d device%s\n", devices, devices == 1 ? "" : "s");
    for (int i = 0; i < devices; ++i) print_device(*net, i);
    return devices > 0 ? 0 : 1;
}
