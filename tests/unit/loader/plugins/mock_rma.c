/* RMA tables with a name only: the loader looks them up and calls nothing (rma contract L-9). */
#include "mock_net.h"

struct named_table {
    const char* name;
    void* slots[21];
};

#ifdef MOCK_RMA_16
MOCK_EXPORT const struct named_table ncclRmaPlugin_v16 = {.name = "MockRma16"};
#endif
#ifdef MOCK_RMA_14
MOCK_EXPORT const struct named_table ncclRmaPlugin_v14 = {.name = "MockRma14"};
#endif
#ifdef MOCK_RMA_13
MOCK_EXPORT const struct named_table ncclRmaPlugin_v13 = {.name = "MockRma13"};
#endif
#ifdef MOCK_GIN_13
MOCK_EXPORT const struct named_table ncclGinPlugin_v13 = {.name = "MockGin13"};
#endif
