// The numbers of ranks of the RMA tables' bodies.
#include "tests/conformance/rma/rma_conformance.hpp"

namespace duofi::test {
namespace {

// With sanitizers 8 ranks on a small machine only wait for each other.
std::vector<int> group_sizes() {
    if (conformance_choice().provider == "native" && !kSanitized) return {2, 4, 8};
    return {2, 4};
}

INSTANTIATE_TEST_SUITE_P(ranks, RmaConformance, testing::ValuesIn(group_sizes()), testing::PrintToStringParamName());

}  // namespace
}  // namespace duofi::test

// Without the variable the tables decline where there is no device memory.
int main(int argc, char** argv) { return duofi::test::conformance_main(argc, argv, {{"DUOFI_RMA", "1"}}); }
