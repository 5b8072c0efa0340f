// The mock drivers, and a runtime over one of them.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/memory/device_runtime.hpp"
#include "tests/mocks/control.h"
#include "tests/unit/util/log_lines.hpp"

namespace duofi::memory {

inline const char* mock_path(DeviceKind kind) {
    return kind == DeviceKind::cuda  ? DUOFI_MOCK_CUDA
           : kind == DeviceKind::hip ? DUOFI_MOCK_HIP
                                     : DUOFI_MOCK_NEURON;
}

/// One runtime after the other over a mock, each with a driver as new.
class OverMock : public testing::Test {
  protected:
    explicit OverMock(DeviceKind kind) : kind_(kind) {
        library_ = ::dlopen(mock_path(kind), RTLD_NOW | RTLD_LOCAL);
        auto control = reinterpret_cast<MockControlFunction>(
            library_ != nullptr ? ::dlsym(library_, DUOFI_MOCK_CONTROL) : nullptr);
        control_ = control != nullptr ? control() : nullptr;
    }
    ~OverMock() override {
        runtime_.reset();
        if (library_ != nullptr) ::dlclose(library_);
    }
    void SetUp() override {
        ASSERT_NE(control_, nullptr) << mock_path(kind_);
        *control_ = {};
        control_->devices = 2;
        control_->far_a = control_->far_b = -1;
    }

    [[nodiscard]] Result<std::unique_ptr<DeviceRuntime>> open(SymbolLookup look_up = nullptr) {
        OpenOptions options;
        options.library = mock_path(kind_);
        options.look_up = look_up;
        return open_device_runtime(kind_, options);
    }
    void use() {
        auto opened = open();
        ASSERT_TRUE(opened) << opened.error().place << "\n" << log_.dump();
        runtime_ = std::move(*opened);
    }
    [[nodiscard]] DeviceRuntime& runtime() { return *runtime_; }
    [[nodiscard]] MockControl& control() { return *control_; }
    template <typename Function>
    [[nodiscard]] Function* driver(const char* name) {
        return reinterpret_cast<Function*>(::dlsym(library_, name));
    }

    test::LogLines log_;

  private:
    DeviceKind kind_;
    void* library_ = nullptr;
    MockControl* control_ = nullptr;
    std::unique_ptr<DeviceRuntime> runtime_;
};

}  // namespace duofi::memory
