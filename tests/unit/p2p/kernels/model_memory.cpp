#include "tests/unit/p2p/kernels/model_memory.hpp"

#include <algorithm>

namespace duofi::test {
namespace {

bool is_load(ModelOperation operation) {
    return operation == ModelOperation::load_relaxed || operation == ModelOperation::load_acquire ||
           operation == ModelOperation::read_data;
}

bool is_data(ModelOperation operation) {
    return operation == ModelOperation::read_data || operation == ModelOperation::write_data ||
           operation == ModelOperation::stream_data;
}

}  // namespace

MemoryState::MemoryState(MemoryRules rules, std::size_t locations) : rules_(rules) {
    if (rules == MemoryRules::release_acquire) {
        locations_.resize(locations);
        for (auto& view : view_) view.resize(locations, 0);
    } else {
        values_.resize(locations, 0);
    }
}

std::size_t MemoryState::choices(int thread, const ModelStep& step) const {
    const auto me = static_cast<std::size_t>(thread);
    if (step.operation == ModelOperation::stream_fence)
        return buffer_[me].empty() && streaming_[me].empty() ? 1 : 0;
    if (rules_ != MemoryRules::release_acquire || is_data(step.operation)) return 1;
    // Loads: any message from the view on. Stores: behind any of them.
    return locations_[step.location].order.size() - view_[me][step.location];
}

std::uint64_t MemoryState::apply(int thread, const ModelStep& step, std::size_t choice) {
    if (step.operation == ModelOperation::stream_fence) return 0;
    if (rules_ == MemoryRules::release_acquire) return apply_views(thread, step, choice);
    return apply_buffered(thread, step);
}

std::uint64_t MemoryState::apply_buffered(int thread, const ModelStep& step) {
    const auto me = static_cast<std::size_t>(thread);
    if (is_load(step.operation)) {
        const auto matches = [&](const Pending& p) { return p.location == step.location; };
        for (const auto* list : {&streaming_[me], &buffer_[me]})
            if (const auto own = std::find_if(list->rbegin(), list->rend(), matches);
                own != list->rend())
                return own->value;
        return values_[step.location];
    }
    if (rules_ == MemoryRules::sequential)
        values_[step.location] = step.value;
    else if (step.operation == ModelOperation::stream_data)
        streaming_[me].push_back({step.location, step.value});
    else
        buffer_[me].push_back({step.location, step.value});
    return 0;
}

std::size_t MemoryState::drains(int thread) const {
    const auto me = static_cast<std::size_t>(thread);
    return (buffer_[me].empty() ? 0 : 1) + streaming_[me].size();
}

void MemoryState::drain(int thread, std::size_t which) {
    const auto me = static_cast<std::size_t>(thread);
    const bool from_buffer = !buffer_[me].empty() && which == 0;
    auto& list = from_buffer ? buffer_[me] : streaming_[me];
    if (!from_buffer && !buffer_[me].empty()) --which;
    const auto entry = list.begin() + static_cast<std::ptrdiff_t>(which);
    values_[entry->location] = entry->value;
    list.erase(entry);
}

std::uint64_t MemoryState::apply_views(int thread, const ModelStep& step, std::size_t choice) {
    if (is_data(step.operation)) return data_view(thread, step);
    const std::size_t position = view_[static_cast<std::size_t>(thread)][step.location] + choice;
    if (is_load(step.operation)) return load_view(thread, step, position);
    store_view(thread, step, position + 1);
    return 0;
}

std::uint64_t MemoryState::load_view(int thread, const ModelStep& step, std::size_t position) {
    const auto me = static_cast<std::size_t>(thread);
    const Message& message = locations_[step.location].order[position];
    view_[me][step.location] = position;
    if (step.operation == ModelOperation::load_acquire && message.release) {
        for (std::size_t i = 0; i < view_[me].size(); ++i)
            view_[me][i] = std::max(view_[me][i], message.view[i]);
        for (std::size_t t = 0; t < 2; ++t)
            clock_[me][t] = std::max(clock_[me][t], message.clock[t]);
    }
    return message.value;
}

void MemoryState::store_view(int thread, const ModelStep& step, std::size_t position) {
    const auto me = static_cast<std::size_t>(thread);
    const auto shift = [&](std::vector<std::size_t>& view) {
        if (!view.empty() && view[step.location] >= position) ++view[step.location];
    };
    for (auto& view : view_) shift(view);
    for (Location& location : locations_)
        for (Message& message : location.order) shift(message.view);
    view_[me][step.location] = position;
    Message message;
    message.value = step.value;
    if (step.operation == ModelOperation::store_release) {
        message.release = true;
        message.clock = clock_[me];
        message.view = view_[me];
        ++clock_[me][me];
    }
    auto& order = locations_[step.location].order;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(position), std::move(message));
}

/// Ordinary data have one value as long as nothing races: every access must follow the other
/// thread's.
std::uint64_t MemoryState::data_view(int thread, const ModelStep& step) {
    const auto me = static_cast<std::size_t>(thread), other = 1 - me;
    Location& location = locations_[step.location];
    const bool behind_write =
        location.writer != static_cast<int>(other) || location.written_at <= clock_[me][other];
    const bool writes = !is_load(step.operation);
    if (!behind_write || (writes && location.read_at[other] > clock_[me][other])) {
        race_ = std::string("data race at word ") + std::to_string(step.location) +
                (writes ? ", written" : ", read") + " by thread " + std::to_string(thread);
        return 0;
    }
    if (!writes) {
        location.read_at[me] = clock_[me][me];
        return location.order.back().value;
    }
    location.order.back().value = step.value;
    location.writer = thread;
    location.written_at = clock_[me][me];
    return 0;
}

void MemoryState::append_key(std::vector<std::uint64_t>& key) const {
    key.insert(key.end(), values_.begin(), values_.end());
    for (std::size_t t = 0; t < 2; ++t) {
        for (const auto* list : {&buffer_[t], &streaming_[t]}) {
            key.push_back(list->size());
            for (const Pending& p : *list) key.insert(key.end(), {p.location, p.value});
        }
        key.insert(key.end(), view_[t].begin(), view_[t].end());
        key.insert(key.end(), clock_[t].begin(), clock_[t].end());
    }
    for (const Location& location : locations_) {
        key.insert(key.end(),
                   {location.order.size(), location.read_at[0], location.read_at[1],
                    static_cast<std::uint64_t>(location.writer + 1), location.written_at});
        for (const Message& message : location.order) {
            key.insert(key.end(),
                       {message.value, message.release, message.clock[0], message.clock[1]});
            key.insert(key.end(), message.view.begin(), message.view.end());
        }
    }
}

}  // namespace duofi::test
