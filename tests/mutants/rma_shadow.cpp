#include "tests/mutants/rma_shadow.hpp"

#include <algorithm>

namespace duofi::mutants {
namespace {

std::mutex world_guard;
std::map<std::string, std::map<int, std::weak_ptr<Group>>> world;

std::shared_ptr<Group> peer_of(const Group& group, int rank) {
    const std::scoped_lock lock(world_guard);
    return world[group.key][rank].lock();
}

const Region* region_of_peer(const Group& group, const std::shared_ptr<Group>& peer,
                             const void* handle) {
    const int index = group.index_of(handle);
    if (!peer || index < 0 || static_cast<std::size_t>(index) >= peer->regions.size())
        return nullptr;
    return &peer->regions[static_cast<std::size_t>(index)];
}

}  // namespace

int Group::index_of(const void* handle) const {
    for (std::size_t i = 0; i < regions.size(); ++i) {
        if (handle != nullptr && regions[i].handle == handle) return static_cast<int>(i);
    }
    return -1;
}

std::shared_ptr<Group> Shadow::group(void* coll) {
    const std::scoped_lock lock(guard);
    const auto found = groups.find(coll);
    return found == groups.end() ? nullptr : found->second;
}

std::shared_ptr<Group> Shadow::group_of_context(void* ctx) {
    const std::scoped_lock lock(guard);
    const auto found = contexts.find(ctx);
    if (found == contexts.end()) return nullptr;
    const auto owner = groups.find(found->second.coll);
    return owner == groups.end() ? nullptr : owner->second;
}

void* Shadow::new_token(std::function<ncclResult_t(int*)> step) {
    const std::scoped_lock lock(guard);
    auto* token = new Token{std::move(step)};
    tokens.insert(token);
    return token;
}

Token* Shadow::find_token(void* request) {
    const std::scoped_lock lock(guard);
    const auto found = tokens.find(static_cast<Token*>(request));
    return found == tokens.end() ? nullptr : *found;
}

void Shadow::end_token(Token* token) {
    const std::scoped_lock lock(guard);
    tokens.erase(token);
    delete token;
}

void Shadow::run_later(void* ctx) {
    std::vector<std::function<void()>> due;
    {
        const std::scoped_lock lock(guard);
        const auto found = contexts.find(ctx);
        if (found != contexts.end()) due.swap(found->second.later);
    }
    for (const auto& what : due) what();
}

void Shadow::do_later(void* ctx, std::function<void()> what) {
    const std::scoped_lock lock(guard);
    contexts[ctx].later.push_back(std::move(what));
}

std::uint8_t* memory_of_peer(const Group& group, const void* handle, int rank, std::uint64_t offset,
                             std::size_t bytes) {
    const std::shared_ptr<Group> peer = peer_of(group, rank);
    const Region* region = region_of_peer(group, peer, handle);
    if (region == nullptr || offset > region->bytes || bytes > region->bytes - offset)
        return nullptr;
    return region->data + offset;
}

std::size_t size_at_peer(const Group& group, const void* handle, int rank) {
    const Region* region = region_of_peer(group, peer_of(group, rank), handle);
    return region == nullptr ? 0 : region->bytes;
}

void enter_world(const std::shared_ptr<Group>& group) {
    const std::scoped_lock lock(world_guard);
    world[group->key][group->rank] = group;
}

}  // namespace duofi::mutants
