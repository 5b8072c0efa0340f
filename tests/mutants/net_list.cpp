#include <array>

#include "tests/mutants/mutant_list.hpp"

namespace duofi::mutants {
namespace {

constexpr const char* kConformance = "net_conformance";
constexpr const char* kIntegration = "net_integration";

constexpr std::array kMutants = {
    Mutant{"connect_blocks", "A10", "connect waits until the peer answered", kIntegration,
           "providers/ConnectOrder.is_free_and_no_call_blocks/native"},
    Mutant{"accept_blocks", "A10", "accept waits for a connect", kIntegration,
           "providers/ConnectOrder.is_free_and_no_call_blocks/native"},
    Mutant{"pending_connect_is_an_error", "net 3.2", "a connect under way is no success",
           kConformance, "connections_open_and_close"},
    Mutant{"handle_partly_written", "net 3.2", "listen writes 24 bytes of the handle", kConformance,
           "connections_open_and_close"},
    Mutant{"second_accept_fails", "net 9.1", "a listen comm serves one connect only", kConformance,
           "one_listen_comm_serves_many_connects"},
    Mutant{"second_init_fails", "net 1.7", "init again without finalize is an error", kIntegration,
           "providers/Reload.init_again_without_finalize/native"},
    Mutant{"any_device_has_properties", "T5", "a bad device index gets an answer", kConformance,
           "properties_are_stable"},
    Mutant{"names_are_copied_for_each_call", "T5", "getProperties allocates its strings",
           kConformance, "properties_are_stable"},
    Mutant{"group_width_is_wrong", "net 3.8", "maxRecvs is 1", kConformance,
           "properties_are_stable"},
    Mutant{"empty_registration_succeeds", "net 3.3", "regMr of no bytes succeeds", kConformance,
           "bad_registrations"},
    Mutant{"device_memory_taken_for_host", "net 3.3", "device memory is registered as host memory",
           kConformance, "bad_registrations"},
    Mutant{"dmabuf_pretended", "T22", "regMrDmaBuf registers the address", kConformance,
           "dmabuf_is_refused_where_unsupported"},
    Mutant{"dmabuf_descriptor_closed", "T22", "regMrDmaBuf closes the caller's descriptor",
           kConformance, "dmabuf_is_refused_where_unsupported"},
    Mutant{"refused_request_keeps_its_word", "T12", "NULL for 'not now' is not written",
           kConformance, "receives_meet_a_limit"},
    Mutant{"full_queue_is_an_error", "T7", "a full queue is an error", kConformance,
           "sends_without_receiver_meet_a_limit"},
    Mutant{"request_given_twice", "net 3.5", "two unfinished sends share a request", kConformance,
           "promised_number_of_requests_fits"},
    Mutant{"empty_send_refused", "T8", "a send of no bytes without data is refused", kConformance,
           "zero_byte_messages"},
    Mutant{"send_range_unchecked", "net 3.9", "a send outside of its registration is no error",
           kConformance, "bad_arguments_disturb_nobody"},
    Mutant{"tags_of_a_group_mixed_up", "T14", "two tags of a grouped receive change places",
           kConformance, "groups_of_every_width"},
    Mutant{"receive_overruns", "T11", "a receive takes 8 bytes more than posted", kConformance,
           "messages_into_smaller_receives"},
    Mutant{"posted_size_reported", "net 3.4", "a short message reports the posted size",
           kConformance, "messages_into_larger_receives"},
    Mutant{"sizes_written_past_the_group", "T9", "test writes one size too many", kConformance,
           "groups_of_every_width"},
    Mutant{"byte_flipped", "net 3.4", "one bit of a message changes", kConformance,
           "messages_of_equal_size"},
    Mutant{"done_stays_unwritten", "net 3.5", "test leaves done as it was", kConformance, "ring"},
    Mutant{"send_done_before_it_was_taken", "net 3.5", "a send is done while its memory is read",
           kConformance, "messages_of_equal_size"},
    Mutant{"receive_done_before_data", "net 3.5", "a receive is done before its data", kConformance,
           "messages_of_equal_size"},
    Mutant{"test_of_nothing_succeeds", "net 3.9", "test of NULL is success", kConformance,
           "bad_arguments_disturb_nobody"},
    Mutant{"remote_error_hidden", "A20", "an operation with a dead peer is done", kIntegration,
           "providers/DeadPeer.shows_on_the_request_that_is_tested/native"},
    Mutant{"flush_leaves_the_request_word", "T9", "iflush of host memory leaves the request word",
           kConformance, "flush_of_host_memory_is_nothing"},
    Mutant{"close_waits_for_the_peer", "net 3.7", "a close takes more than a second", kConformance,
           "connections_open_and_close"},
    Mutant{"close_reports_an_error", "net 3.7", "closing a listen comm is an error", kConformance,
           "connections_open_and_close"},
};

}  // namespace

std::span<const Mutant> net_mutants() {
    return kMutants;
}

}  // namespace duofi::mutants
