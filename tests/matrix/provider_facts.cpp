// What a provider offers to the tables, one fact per line, for the matrix: `provider_facts <word>`. Exit code 3: not usable,
// with the reason.
#include <rdma/fi_endpoint.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/ofi/discovery.hpp"
#include "common/util/log.hpp"
#include "common/util/settings.hpp"
#include "tests/support/providers.hpp"

namespace duofi {
namespace {

void say(const char* key, const std::string& value) {
    std::printf("%s\t%s\n", key, value.c_str());
}

bool grants(const ofi::DeviceInfo& device, const ofi::Requirements& needs) {
    return ofi::info_for(device, needs).has_value();
}

std::string orders_of(const ofi::DeviceInfo& device, ofi::Requirements needs) {
    constexpr struct {
        std::uint64_t bit;
        const char* text;
    } kOrders[] = {{FI_ORDER_SAS, "message after message"}, {FI_ORDER_SAW, "message after write"},
                   {FI_ORDER_WAW, "write after write"}};
    std::string text;
    for (const auto& order : kOrders) {
        needs.msg_order = order.bit;
        needs.order_required = true;
        if (grants(device, needs)) text += (text.empty() ? "" : ", ") + std::string(order.text);
    }
    return text.empty() ? "none" : text;
}

void say_one_sided(const ofi::DeviceInfo& device, const Settings& settings, std::uint32_t version) {
    ofi::Requirements needs = ofi::one_sided_requirements(settings);
    if (!grants(device, needs))
        say("no one-sided", "no message that stays behind earlier writes");
    needs.msg_order = 0;
    needs.order_required = false;
    say("order", orders_of(device, needs));
    ofi::Requirements confirming = needs;
    confirming.tx_op_flags = FI_DELIVERY_COMPLETE;
    const bool confirms = ofi::quirk_for(device.provider, version).confirms_writes && grants(device, confirming);
    say("completion", confirms ? "a write can complete when the target has it" : "of a write: at the origin");
    ofi::Requirements atomic = needs;
    atomic.required_caps |= FI_ATOMIC;
    say("atomics", grants(device, atomic) ? "offered" : "not offered");
}

int facts(const std::string& word) {
    const std::string provider = test::provider_name(word);
    ::setenv("FI_PROVIDER", provider.c_str(), 1);
    std::string reason;
    log::set_sink([&reason](log::Level, unsigned long, const char*, int, const char* text) {
        const std::string line = text;
        const auto left_out = line.find("Left out ");
        const auto why = left_out != std::string::npos ? line.find(": ", left_out) : left_out;
        if (why != std::string::npos && reason.empty()) reason = line.substr(why + 2);
    });
    const auto settings = load_settings();
    if (!settings) return 2;
    say("provider", provider);
    const auto list = ofi::discover(*settings, ofi::tagged_requirements(*settings));
    log::set_sink({});
    if (!list) {
        say("refused", reason.empty() ? "no such provider" : reason);
        return 3;
    }
    say("libfabric", std::to_string(list->libfabric_version >> 16) + "." + std::to_string(list->libfabric_version & 0xffff));
    say_one_sided(list->devices.front(), *settings, list->libfabric_version);
    return 0;
}

}  // namespace
}  // namespace duofi

int main(int argc, char** argv) {
    return argc == 2 ? duofi::facts(argv[1]) : 2;
}
