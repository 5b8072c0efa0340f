// An outside world of init that notes each call and fails where told.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "net_plugin/init_sequence.hpp"

namespace duofi::net::test {

class FakeInitSteps : public InitSteps {
  public:
    std::vector<std::string> calls;
    std::vector<std::pair<std::string, std::string>> environment;  // writes, in order
    std::vector<std::string> set_by_user;                          // names that must stay

    Settings settings;
    std::uint32_t version = 0x10011;
    std::string product = "KVM";
    DiscoverySummary found{"tcp;ofi_rxm", {"duofi_eth0"}};
    SelfTestReport report{true, false, memory::GdrState::unsupported};
    std::map<std::string, Error> failures;  // step -> error
    std::optional<ProtocolKind> fails_only_for;  // failures of later protocols are none
    std::string throws_in;
    InitContext seen_by_discover, seen_by_create;

    Result<Settings> load_settings() override { return answer("load_settings", settings); }
    std::uint32_t fi_version() override {
        note("fi_version");
        return version;
    }
    std::string libfabric_file() override { return "/usr/lib/libfabric.so.1"; }
    std::string dmi_product_name() override {
        note("dmi_product_name");
        return product;
    }
    std::string_view efa_provider_name() override { return "efa"; }
    Result<DiscoverySummary> discover(const InitContext& context) override {
        seen_by_discover = context;
        if (fails_only_for && context.protocol.kind != *fails_only_for) failures.clear();
        return answer("discover", found);
    }
    Status create_plugin(const InitContext& context) override {
        seen_by_create = context;
        note("create_plugin");
        if (failures.contains("create_plugin")) return tl::unexpected(failures.at("create_plugin"));
        return {};
    }
    Result<SelfTestReport> self_test() override { return answer("self_test", report); }
    std::vector<SettingRow> setting_rows(const Settings&) override {
        SettingRow changed, same;
        changed.name = "OFI_NCCL_CQ_SIZE";
        changed.value = "64";
        changed.default_text = "12288";
        same.name = "DUOFI_STRICT";
        same.value = same.default_text = "0";
        return {changed, same};
    }
    bool set_environment(const char* name, const char* value) override {
        note("set_environment");
        if (std::count(set_by_user.begin(), set_by_user.end(), name) != 0) return false;
        environment.emplace_back(name, value);
        return true;
    }
    void discard() noexcept override { calls.emplace_back("discard"); }

    [[nodiscard]] long count(const std::string& step) const {
        return std::count(calls.begin(), calls.end(), step);
    }
    [[nodiscard]] std::optional<std::string> written(const std::string& name) const {
        for (const auto& [key, value] : environment)
            if (key == name) return value;
        return std::nullopt;
    }

  private:
    void note(const std::string& step) {
        calls.push_back(step);
        if (step == throws_in) throw std::runtime_error(step);
    }
    template <typename T>
    Result<T> answer(const std::string& step, const T& value) {
        note(step);
        if (failures.contains(step)) return tl::unexpected(failures.at(step));
        return value;
    }
};

}  // namespace duofi::net::test
