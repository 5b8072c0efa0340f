#include "p2p/caller_setting.hpp"

#include "common/util/log.hpp"
#include "common/util/messages/p2p.hpp"
#include "p2p/abi.h"

namespace duofi::p2p {

std::int64_t caller_setting(const char* name, const std::string& text,
                            const Result<std::int64_t>& parsed, std::int64_t otherwise) {
    if (text.empty()) return otherwise;
    if (parsed) {
        log::info(NCCL_ENV, messages::kP2pSetByEnvironment, name, text);
        return *parsed;
    }
    log::warn(NCCL_ENV, messages::kP2pBadSetting, name, text, "a whole number");
    return otherwise;
}

}  // namespace duofi::p2p
