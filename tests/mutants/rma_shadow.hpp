// What the RMA wrapper remembers: groups, their regions in order of registration, unfinished
// operations. Ranks that are threads of this process see each other's memory through it, so that a
// mutant can write where a careless plugin would. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/loader/rma_table.hpp"

namespace duofi::mutants {

using loader::RmaGet;
using loader::RmaPut;
using loader::RmaSignal;

struct Region {
    void* handle = nullptr;  ///< NULL once released
    std::uint8_t* data = nullptr;
    std::size_t bytes = 0;
    int uses = 0;
};

struct Group {
    std::string key;  ///< the same on all ranks
    int rank = 0;
    int count = 0;
    std::vector<Region> regions;
    std::function<void()> ghost;  ///< a write that comes after its context's end

    /// Index of the live region behind a handle; -1: none.
    [[nodiscard]] int index_of(const void* handle) const;
};

struct Context {
    void* coll = nullptr;
    int contexts = 0;
    std::vector<std::function<void()>> later;  ///< for the next data call
};

/// A request that the wrapper made up: `step` is a call of test.
struct Token {
    std::function<ncclResult_t(int* done)> step;
};

struct Unfinished {
    void* ctx = nullptr;
    RmaPut put;
};

/// State of one table version.
struct Shadow {
    std::mutex guard;
    std::map<void*, std::shared_ptr<Group>> groups;  ///< by collComm
    std::map<void*, Context> contexts;
    std::map<void*, void*> instance_of_listener;
    std::map<void*, void*> listener_of_group;
    std::set<void*> orphaned_listeners;  ///< whose collComm closed
    std::map<std::uint64_t, void*> instances;
    std::map<void*, Unfinished> unfinished;
    std::set<Token*> tokens;

    std::shared_ptr<Group> group_of_context(void* ctx);
    std::shared_ptr<Group> group(void* coll);
    void* new_token(std::function<ncclResult_t(int*)> step);
    [[nodiscard]] Token* find_token(void* request);
    void end_token(Token* token);
    /// Runs what was put off on this context.
    void run_later(void* ctx);
    void do_later(void* ctx, std::function<void()> what);
};

/// Memory of `rank` behind our handle: NULL when that rank is no thread of this process, or the
/// range is not inside of its region.
[[nodiscard]] std::uint8_t* memory_of_peer(const Group& group, const void* handle, int rank,
                                           std::uint64_t offset, std::size_t bytes);
[[nodiscard]] std::size_t size_at_peer(const Group& group, const void* handle, int rank);
void enter_world(const std::shared_ptr<Group>& group);

}  // namespace duofi::mutants
