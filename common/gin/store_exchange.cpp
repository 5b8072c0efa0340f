#include "common/gin/store_exchange.hpp"

#include <algorithm>

namespace duofi::gin {

Exchange store_exchange(bootstrap::Store& store, Nanoseconds limit) {
    return {store.rank(), store.size(),
            [&store, limit](std::span<const std::byte> mine, std::span<std::byte> all) -> Status {
                DUOFI_ASSIGN(const std::vector<bootstrap::Bytes> blocks,
                             store.gather("gin exchange", mine, Deadline(limit)));
                for (std::size_t i = 0; i < blocks.size(); ++i) {
                    if (blocks[i].size() != mine.size())
                        return fail(Errc::invalid_argument, "gin exchange");
                    std::ranges::copy(blocks[i], all.subspan(i * mine.size()).begin());
                }
                return {};
            }};
}

}  // namespace duofi::gin
