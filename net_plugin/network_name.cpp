#include "net_plugin/network_name.hpp"

#include <strings.h>

#include <optional>
#include <string>

#include "common/util/settings.hpp"

namespace duofi::net {

const char* network_name() noexcept {
    static constexpr const char* kAliases[] = {"OFI", "Libfabric", "AWS Libfabric"};
    const std::optional<std::string> asked = environment_value("NCCL_NET");
    if (!asked) return kNetworkName;
    for (const char* alias : kAliases)
        if (::strcasecmp(asked->c_str(), alias) == 0) return alias;
    return kNetworkName;
}

}  // namespace duofi::net
