// The entry of the provider (fi_provider(7), rdma/providers/fi_prov.h).
//
// Names. libfabric resolves "duofisim;efa" as provider "efa" layered over "duofisim" (src/fabric.c): fi_fabric looks for a
// provider that is registered under the last part, and so does a hint with that name. So a personality registers its
// last part and shows the first one in its entries; a provider list must admit both: "duofisim;efa,efa".
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "common/util/settings.hpp"
#include "common/util/unique_fd.hpp"
#include "sim_fabric/domain.hpp"
#include "sim_fabric/info.hpp"
#include "sim_fabric/knobs.hpp"
#include "sim_fabric/nic_thread.hpp"

namespace duofi::sim {
namespace {

// Newer than any real provider of the same name, which is then hidden; of two that are registered under one name
// libfabric takes the newer.
constexpr std::uint32_t kProviderVersion = FI_VERSION(999, 0);

void say(const std::string& line) {
    const std::string text = "duofisim: " + line + '\n';
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// One record per process, appended in one piece.
void write_report() {
    if (knobs().report.empty()) return;
    const UniqueFd file(::open(knobs().report.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const std::string text = faults().report();
    [[maybe_unused]] const ssize_t written = ::write(file.get(), text.data(), text.size());
}

void cleanup() {
    write_report();
    if (nic_stop()) forget_knobs();  // at exit another thread may still be in a call on an endpoint
}

fi_provider g_provider{};

void load_knobs() {
    std::vector<std::string> complaints;
    Knobs wanted = read_knobs([](const std::string& name) { return environment_value(name.c_str()); }, complaints);
    for (const std::string& complaint : complaints) say(complaint);
    if (!wanted.given.empty()) say(std::string(wanted.personality->name) + wanted.given + " (seed " + std::to_string(wanted.seed) + ")");
    set_knobs(std::move(wanted));
}

}  // namespace
}  // namespace duofi::sim

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini() {
    using namespace duofi::sim;
    load_knobs();
    const char* personality = knobs().personality->provider;
    g_provider.version = kProviderVersion;
    g_provider.fi_version = fi_version();
    g_provider.name = personality[0] != '\0' ? personality : "duofisim";
    g_provider.getinfo = answer_getinfo;
    g_provider.fabric = open_fabric;
    g_provider.cleanup = cleanup;
    return &g_provider;
}
