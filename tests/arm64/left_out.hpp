// Which cases qemu-user cannot run, and why.
#pragma once

namespace duofi::test {

struct LeftOut {
    const char* program;
    const char* cases;  ///< Suite.Case, with * and ?
    const char* reason;
};

inline constexpr const char* kFilters = "no filter of system calls can be set";
inline constexpr const char* kForkedPages = "pages are not emptied or unmapped in a fork";
inline constexpr const char* kLimits = "a limit of addresses is not kept";
inline constexpr const char* kSlow = "a process does not start and end in the tenth of a second that the case gives";
inline constexpr const char* kThreads = "threads that have ended are still counted for a moment";

inline constexpr LeftOut kLeftOut[] = {
    {"emulation_test", "LeftOut.CasesOfTheListDoNotRun", "it fails when it runs"},
    {"unit_ofi_core", "ForkMark.IsSeenIn*", kForkedPages},
    {"local_test", "FdService.ParentServesOnAfterItsChildHasEnded", kForkedPages},
    {"local_test", "ProcessWatch.ChildrenOfAWatcherEndFreely", kForkedPages},
    {"local_test", "ProcessWatch.ConnectionsTellOfTheirEnd", kFilters},
    {"local_test", "ProcessWatch.LooksByTheClockWherePidfdIsForbidden", kFilters},
    {"local_segment_test", "OpenAcross.WorksWherePidfdIsForbidden", kFilters},
    {"local_segment_test", "SegmentTable.DestructorInAChildTouchesNothing", kForkedPages},
    {"local_segment_test", "SegmentTableTest.RefusesForkedChildren", kForkedPages},
    {"local_segment_test", "SegmentTest.IsNotMappedInChildren", kForkedPages},
    {"local_segment_test", "SegmentTest.LimitOfAddressesIsAnError", kLimits},
    {"bootstrap_test", "LocalSpawn.the_deadline_ends_everything", kSlow},
    {"p2p_runtime_test", "RuntimeDispatch.EveryCallOfAForkedChildIsRefused", kForkedPages},
    {"p2p_runtime_test", "RuntimeDispatch.ForkedChildrenAreTurnedAway", kForkedPages},
    {"p2p_transport_test", "ChannelCrew.an_operation_without_its_threads_does_not_begin", kLimits},
    {"p2p_transport_test", "Free/FreeModes.*", kThreads},
    {"p2p_net_test", "Mixed.NothingIsLeftAfterManyCommunicators", kThreads},
    {"p2p_process_test", "Processes.a_forked_child_is_refused_and_harms_nobody", kForkedPages},
    {"p2p_process_test", "UserProcesses.a_forked_child_does_not_touch_the_exchange", kForkedPages},
};

}  // namespace duofi::test
