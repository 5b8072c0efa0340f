// Pointers that callers hold: wrong ones and ended ones are told from good ones, never followed (rma contract 3.14).
#include "rma_plugin/caller_objects.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace duofi::rma {
namespace {

class Objects : public ::testing::Test {
  protected:
    [[nodiscard]] Window* window() { return reinterpret_cast<Window*>(&place); }
    [[nodiscard]] Group* group() { return reinterpret_cast<Group*>(&place); }
    std::uint64_t place = 0;  // only its address is kept
};

TEST_F(Objects, are_found_as_what_they_are) {
    const std::size_t before = open_objects();
    ObjectHandle* handle = open_object(*window());
    EXPECT_EQ(open_objects(), before + 1);
    EXPECT_EQ(find_object<Window>(handle), window());
    EXPECT_EQ(find_object<Group>(handle), nullptr);
    EXPECT_EQ(find_object<Context>(handle), nullptr);
    EXPECT_EQ(find_object<ListenComm>(handle), nullptr);
    EXPECT_EQ(find_object<Instance>(handle), nullptr);
    end_object(*handle);
    EXPECT_EQ(open_objects(), before);
}

TEST_F(Objects, that_have_ended_lead_nowhere) {
    ObjectHandle* handle = open_object(*window());
    end_object(*handle);
    EXPECT_EQ(find_object<Window>(handle), nullptr);
    std::vector<ObjectHandle*> others;
    for (int i = 0; i < 64; ++i) {
        others.push_back(open_object(*group()));
        EXPECT_NE(others.back(), handle) << "the place rests a while";
    }
    EXPECT_EQ(find_object<Window>(handle), nullptr);
    for (ObjectHandle* other : others) end_object(*other);
}

TEST_F(Objects, of_the_caller_are_not_ours) {
    EXPECT_EQ(find_object<Window>(nullptr), nullptr);
    alignas(ObjectHandle) std::byte foreign[2 * sizeof(ObjectHandle)] = {};
    EXPECT_EQ(find_object<Window>(foreign), nullptr);
    ObjectHandle* handle = open_object(*window());
    EXPECT_EQ(find_object<Window>(handle->object), nullptr) << "what it points to is none";
    // A good one at an odd place must not even be read.
    std::memcpy(foreign + 4, handle, sizeof(*handle));
    EXPECT_EQ(find_object<Window>(foreign + 4), nullptr);
    for (std::size_t odd = 1; odd < alignof(ObjectHandle); ++odd)
        EXPECT_EQ(find_object<Window>(reinterpret_cast<std::byte*>(handle) + odd), nullptr);
    end_object(*handle);
}

TEST_F(Objects, live_in_memory_that_can_be_dropped_and_made_anew) {
    ASSERT_EQ(open_objects(), 0u);
    CallerObjects& first = caller_objects();
    EXPECT_EQ(&caller_objects(), &first);
    drop_caller_objects();
    drop_caller_objects();
    ObjectHandle* handle = open_object(*window());
    EXPECT_EQ(find_object<Window>(handle), window());
    end_object(*handle);
    EXPECT_EQ(caller_objects().handles.in_use(), 0u);
}

}  // namespace
}  // namespace duofi::rma
