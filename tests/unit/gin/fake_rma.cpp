#include "tests/unit/gin/fake_rma.hpp"

namespace duofi::gin::test {

std::atomic<FakeRma*> FakeRma::current_{nullptr};

FakeRma::FakeRma() {
    current_ = this;
}

FakeRma::~FakeRma() {
    current_ = nullptr;
}

void* FakeRma::new_instance() {
    const std::lock_guard lock(mutex_);
    return instances_.emplace_back(std::make_unique<int>(0)).get();
}

std::vector<FakeCall> FakeRma::calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
}

std::vector<std::string> FakeRma::set_up() const {
    const std::lock_guard lock(mutex_);
    return set_up_;
}

int FakeRma::progress_calls() const {
    const std::lock_guard lock(mutex_);
    return progress_calls_;
}

std::vector<void*> FakeRma::tested() const {
    const std::lock_guard lock(mutex_);
    return tested_;
}

void FakeRma::complete(const FakeCall& call) {
    const std::lock_guard lock(mutex_);
    requests_.at(call.request)->done = true;
}

void FakeRma::complete_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& [request, state] : requests_) state->done = true;
}

void FakeRma::forget_calls() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
    tested_.clear();
}

std::size_t FakeRma::open_requests() const {
    const std::lock_guard lock(mutex_);
    return requests_.size();
}

}  // namespace duofi::gin::test
