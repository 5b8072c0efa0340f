#include "tools/duofi/bench_plan.hpp"

#include <cstring>

namespace duofi::tool {
namespace {

void add(std::vector<Cell>& cells, std::initializer_list<Via> ways, const Workload& work) {
    for (const Via via : ways) cells.push_back({via, work});
}

std::vector<Cell> two_sided() {
    std::vector<Cell> cells;
    add(cells, {Via::tagged, Via::net}, {Shape::ping_pong, 8, 1, 1});
    for (const std::uint32_t bytes : {65536u, 1048576u})
        for (const std::uint32_t window : {1u, 32u})
            add(cells, {Via::tagged, Via::write, Via::net}, {Shape::stream, bytes, window, 1});
    return cells;
}

/// A signal's latency is that of its arrival; a put and a get have only that of their completion.
std::vector<Cell> one_sided() {
    std::vector<Cell> cells;
    add(cells, {Via::raw_put, Via::rma_put}, {Shape::single, 8, 1, 1});
    add(cells, {Via::raw_put_signal, Via::rma_put_signal}, {Shape::ping_pong, 8, 1, 1});
    add(cells, {Via::raw_get, Via::rma_get}, {Shape::single, 8, 1, 1});
    for (const std::uint32_t bytes : {65536u, 1048576u}) {
        const Workload work{Shape::stream, bytes, kWidestWindow, 1};
        add(cells, {Via::raw_put, Via::rma_put}, work);
        add(cells, {Via::raw_put_signal, Via::rma_put_signal}, work);
        add(cells, {Via::raw_get, Via::rma_get}, work);
    }
    return cells;
}

}  // namespace

std::vector<Cell> bench_cells(Part part) {
    return part == Part::two_sided ? two_sided() : one_sided();
}

void set_text(Text& target, const char* text) noexcept {
    std::strncpy(target.data(), text, target.size() - 1);
}

}  // namespace duofi::tool
