// Lines of the memory that processes of one node share, and the reasons that its errors carry as their place.
#pragma once

namespace duofi::messages {

inline constexpr char kFdServiceUnavailable[] =
    "LOCAL op=fd_service err={} err_text=\"{}\" reason=\"{}\" (memory is passed through /proc only)";
inline constexpr char kProcessDied[] = "LOCAL process {} of rank {} is gone";
inline constexpr char kConnectionEnded[] = "LOCAL the process of rank {} is gone: its connection ended";

inline constexpr char kProbeOpen[] = "opening an own descriptor through /proc/self/fd";

// Steps of opening a handle, in their order.
inline constexpr char kHandleSize[] = "the handle does not have 64 bytes";
inline constexpr char kHandleChecksum[] = "the handle is damaged: its checksum differs";
inline constexpr char kHandleMagic[] = "this is no handle of shared memory";
inline constexpr char kHandleVersion[] = "the handle has another version";
inline constexpr char kHandleKind[] = "the handle is of an unknown kind";
inline constexpr char kHandleBounds[] = "the handle has an impossible size or offset";
inline constexpr char kHandleRaw[] = "the handle is a raw pointer, which means nothing in another process";
inline constexpr char kHandleHugePages[] =
    "the handle is of explicit huge pages, which this process does not use; set DUOFI_P2P_HUGE_PAGES on all ranks";
inline constexpr char kHandleStale[] = "the handle names memory of this process that was freed";
inline constexpr char kHandleNamespace[] = "the exporter is not in the same pid namespace";
inline constexpr char kExporterGone[] = "the exporter is gone";
inline constexpr char kExporterReplaced[] = "the exporter is gone: its pid belongs to another process";
inline constexpr char kExporterClosed[] = "the exporter has freed the memory or ended its export";
inline constexpr char kExporterForbidden[] =
    "no access to the exporter's descriptors: other user, or a process that is not dumpable";
inline constexpr char kDescriptorKind[] = "the exporter's descriptor is not a memfd";
inline constexpr char kDescriptorOwner[] = "the exporter's descriptor belongs to another user";
inline constexpr char kDescriptorInode[] = "the exporter's descriptor is another memfd";
inline constexpr char kDescriptorSize[] = "the exporter's descriptor has another size than the handle says";
inline constexpr char kDescriptorSeals[] = "the exporter's descriptor is not sealed against resizing";
inline constexpr char kControlPage[] = "the control page does not match the handle";

inline constexpr char kSegmentSize[] = "size 0 or above 1 TiB";
inline constexpr char kSegmentCreate[] = "memfd_create";
inline constexpr char kSegmentFileLimit[] = "the limit of file sizes (ulimit -f) is too small";
inline constexpr char kSegmentMemory[] = "not enough memory";
inline constexpr char kSegmentMemoryLimit[] = "not enough memory left within the limit of the control group";
inline constexpr char kSegmentResize[] = "ftruncate of a memfd";
inline constexpr char kSegmentSeal[] = "sealing a memfd";
inline constexpr char kSegmentMap[] = "mapping a memfd";
inline constexpr char kSegmentRange[] = "the range is not inside the memory";
inline constexpr char kSegmentNotExported[] = "the export of this memory has ended";
inline constexpr char kNotOurMemory[] = "the address is not memory of ours";
inline constexpr char kNotOpened[] = "the address was not opened by a handle";
inline constexpr char kNotRetained[] = "the memory is not retained";
inline constexpr char kForkedChild[] = "shared memory cannot be used in a forked child; create it after the fork";

inline constexpr char kServiceAddress[] = "the path of the socket is too long";
inline constexpr char kServiceListen[] = "listening on a unix socket";
inline constexpr char kServiceConnect[] = "no fd service at the exporter's address";
inline constexpr char kServiceOtherUser[] = "the fd service runs under another user";
inline constexpr char kServiceAnswer[] = "the fd service gave no valid answer";
inline constexpr char kServiceTimeout[] = "the fd service did not answer in time";

inline constexpr char kWatchNothing[] = "there is no descriptor to watch";
inline constexpr char kWatchForeign[] = "the process is of another kernel or pid namespace";
inline constexpr char kBackgroundThread[] = "starting a background thread";
inline constexpr char kPidfdOpen[] = "pidfd_open";

inline constexpr char kRingMemory[] = "memory of a ring: 128-byte aligned, a power of two from 256 to 2^32 bytes";

}  // namespace duofi::messages
