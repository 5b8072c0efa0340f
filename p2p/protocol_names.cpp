#include "p2p/protocol_names.hpp"

#include <array>

#include "common/util/parse.hpp"

namespace duofi::p2p {

Result<ProtocolSet> parse_protocols(std::string_view text) {
    constexpr std::array<std::string_view, NCCL_NUM_PROTOCOLS> kNames{"LL", "LL128", "Simple"};
    text = trimmed(text);
    if (text.empty()) return kAllProtocols;
    const bool without = text.front() == '^';
    if (without) text.remove_prefix(1);
    DUOFI_ASSIGN(const std::vector<std::string> names, parse_list(text));
    ProtocolSet named = 0;
    for (const std::string& name : names) {
        DUOFI_ASSIGN(const std::size_t index, parse_choice(name, kNames));
        named |= ProtocolSet{1} << index;
    }
    const ProtocolSet allowed = without ? kAllProtocols & ~named : named;
    if (allowed == 0) return fail(Errc::invalid_argument, "NCCL_PROTO");
    return allowed;
}

}  // namespace duofi::p2p
