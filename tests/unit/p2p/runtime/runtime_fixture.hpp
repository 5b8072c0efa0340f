// What the tests of runtimes share.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "p2p/runtime/runtime.hpp"
#include "tests/unit/local/child.hpp"
#include "tests/unit/local/memory_facts.hpp"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::test {

inline Settings runtime_settings_of(const std::string& name) {
    Settings settings;
    settings.p2p_runtime = name;
    return settings;
}

/// Uses one runtime for the life of the test.
class RuntimeTest : public testing::Test {
  protected:
    void use(Settings settings) {
        auto used = p2p::runtime::acquire(settings);
        ASSERT_TRUE(used) << used.error().place << "\n" << log_.dump();
        use_ = std::move(*used);
    }
    void use(const std::string& name) { use(runtime_settings_of(name)); }

    LogLines log_;
    p2p::runtime::Use use_;
};

}  // namespace duofi::test
