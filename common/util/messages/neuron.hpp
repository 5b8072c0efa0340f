// Lines of the calls that only Neuron's tables have.
#pragma once

namespace duofi::messages {

inline constexpr char kNoOneSided[] =
    "NET/OFI {}: provider {} has no one-sided access here (rma_supported says so)";
inline constexpr char kTooLong[] = "NET/OFI {}: size={} (accepted: 0..{})";
inline constexpr char kNoKey[] = "NET/OFI getMrKey: provider {} has no 64-bit key for this registration";
inline constexpr char kKeyRefused[] =
    "NET/OFI op={} dev={} peer={} size={} address={:#x} key={:#x} err_text=\"the peer has no memory under that key at "
    "that address\" hint=\"key from getMrKey of that rank, registration still there?\"";
inline constexpr char kAcceptTimeout[] =
    "NET/OFI accept gave up after {}s: nobody has connected; DUOFI_CONNECT_TIMEOUT sets the limit";
inline constexpr char kNeuronInitFailed[] = "NET/OFI Initializing plugin failed";
inline constexpr char kFiniNotInitialized[] = "NET/OFI fini: the plugin is not initialized";

}  // namespace duofi::messages
