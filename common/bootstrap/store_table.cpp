#include "common/bootstrap/store_table.hpp"

#include <functional>

namespace duofi::bootstrap {
namespace {

wire::Response answer(std::uint32_t id, wire::State state, int rank = -1) {
    wire::Response response;
    response.id = id;
    response.state = state;
    response.rank = rank;
    return response;
}

}  // namespace

void StoreTable::handle(int rank, wire::Request request, Answers& answers) {
    if (const auto given_up = waiting_.find(rank); given_up != waiting_.end()) {
        if (given_up->second.op == wire::Op::barrier) barriers_[given_up->second.key].erase(rank);
        waiting_.erase(given_up);
    }
    switch (request.op) {
        case wire::Op::set:
            set(rank, request, answers);
            break;
        case wire::Op::get:
            get(rank, request, answers);
            break;
        case wire::Op::barrier:
            enter(rank, request, answers);
            break;
        case wire::Op::farewell:
            leave(rank, answers);
            break;
    }
}

void StoreTable::set(int rank, wire::Request& request, Answers& answers) {
    Bytes& value = values_[request.key];
    value = std::move(request.value);
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        const bool served = it->second.op == wire::Op::get && it->second.key == request.key;
        if (served) {
            wire::Response response = answer(it->second.id, wire::State::ok);
            response.value = value;
            answers.emplace_back(it->first, std::move(response));
        }
        it = served ? waiting_.erase(it) : std::next(it);
    }
    answers.emplace_back(rank, answer(request.id, wire::State::ok));
}

void StoreTable::get(int rank, const wire::Request& request, Answers& answers) {
    if (const auto found = values_.find(request.key); found != values_.end()) {
        wire::Response response = answer(request.id, wire::State::ok);
        response.value = found->second;
        answers.emplace_back(rank, std::move(response));
        return;
    }
    if (const int gone = gone_rank(request.op); gone >= 0) {
        answers.emplace_back(rank, answer(request.id, wire::State::peer_gone, gone));
        return;
    }
    waiting_[rank] = Waiting{request.id, request.op, request.key};
}

void StoreTable::enter(int rank, const wire::Request& request, Answers& answers) {
    if (const int gone = gone_rank(request.op); gone >= 0) {
        answers.emplace_back(rank, answer(request.id, wire::State::peer_gone, gone));
        return;
    }
    std::set<int>& inside = barriers_[request.key];
    inside.insert(rank);
    waiting_[rank] = Waiting{request.id, request.op, request.key};
    if (static_cast<int>(inside.size()) < size_) return;
    for (const int member : inside) {
        const auto it = waiting_.find(member);
        answers.emplace_back(member, answer(it->second.id, wire::State::ok));
        waiting_.erase(it);
    }
    barriers_.erase(request.key);
}

void StoreTable::leave(int rank, Answers& answers) {
    left_.insert(rank);
    fail_barriers(rank, answers);
}

void StoreTable::fail_barriers(int gone, Answers& answers) {
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        const bool hopeless = it->second.op == wire::Op::barrier;
        if (hopeless)
            answers.emplace_back(it->first, answer(it->second.id, wire::State::peer_gone, gone));
        it = hopeless ? waiting_.erase(it) : std::next(it);
    }
    barriers_.clear();
}

void StoreTable::lose(int rank, Answers& answers) {
    if (lost_ < 0) lost_ = rank;
    waiting_.erase(rank);
    fail_barriers(rank, answers);
    for (const auto& [waiter, what] : waiting_)
        answers.emplace_back(waiter, answer(what.id, wire::State::peer_gone, rank));
    waiting_.clear();
}

int StoreTable::gone_rank(wire::Op op) const {
    if (lost_ >= 0) return lost_;
    return op == wire::Op::barrier && !left_.empty() ? *left_.begin() : -1;
}

}  // namespace duofi::bootstrap
