/* What tests tell the mock drivers, and what these count. Every mock exports
 * `struct MockControl* duofi_mock_control(void)`. Change it while no call is under way. */
#ifndef DUOFI_TESTS_MOCK_CONTROL_H
#define DUOFI_TESTS_MOCK_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct MockControl {
    /* How the driver is. */
    int version; /* 0: a current one */
    int devices;
    int init_result; /* of the first call */
    int no_ipc;      /* handles are refused, as for memory made by the other interface */
    int no_dmabuf;
    size_t memory; /* bytes that can be allocated, 0 = any number */
    int far_a, far_b; /* devices without access to each other */
    int family;       /* Neuron: of the instance */

    /* What happened. */
    int blocks;   /* allocations that live */
    int imports;  /* mappings of other processes' memory */
    int contexts; /* retained and not released */
    int opened, closed;
};

#define DUOFI_MOCK_CONTROL "duofi_mock_control"
typedef struct MockControl* (*MockControlFunction)(void);

#ifdef __cplusplus
}
#endif

#endif
