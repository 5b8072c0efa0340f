// The numbers of ranks of the net table's bodies.
#include "tests/conformance/conformance.hpp"

namespace duofi::test {

// With sanitizers 8 ranks on a small machine only wait for each other.
INSTANTIATE_TEST_SUITE_P(ranks, Conformance,
                         testing::ValuesIn(kSanitized ? std::vector<int>{2, 4} : std::vector<int>{2, 4, 8}),
                         testing::PrintToStringParamName());

}  // namespace duofi::test

int main(int argc, char** argv) { return duofi::test::conformance_main(argc, argv); }
