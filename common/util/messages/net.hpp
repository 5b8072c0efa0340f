// Lines of the net plugin's calls. The four guard lines are word for word those of the seed (section 2).
#pragma once

namespace duofi::messages {

inline constexpr char kNotInitialized[] =
    "Error accessing plugin. Plugin has not been initialized yet.";
inline constexpr char kBadDevice[] = "Error accessing device {}.";
inline constexpr char kNullHandle[] = "Provided handle is NULL";
inline constexpr char kNoEndpoint[] =
    "Error accessing endpoint. Endpoint has not been initialized.";

inline constexpr char kNullArgument[] = "NET/OFI {}: argument {} is NULL";
inline constexpr char kBadComm[] = "NET/OFI {}: the comm is closed or not of this kind";
inline constexpr char kStaleRequest[] =
    "NET/OFI test: the request is not outstanding (tested after done, or its comm is closed)";
inline constexpr char kBadHandle[] =
    "NET/OFI connect: the handle is {} (expected: what listen of the same provider and version has written; DUOFI_OFI_PROVIDER and FI_PROVIDER must be the same on all ranks)";
inline constexpr char kBadGroup[] = "NET/OFI {}: n={} (accepted: 1..{}, with data, sizes and tags)";
inline constexpr char kBadSize[] = "NET/OFI {}: size={} (accepted: {})";
inline constexpr char kBadMemoryType[] =
    "NET/OFI regMr: type={} (accepted: 1 = host memory; this device reports ptrSupport 1)";
inline constexpr char kNoDmabuf[] =
    "NET/OFI regMrDmaBuf: provider {} has no DMA-BUF registration (ptrSupport says so)";
inline constexpr char kBadMemoryHandle[] = "NET/OFI {}: the mhandle is not registered on this device";
inline constexpr char kNeedsMemoryHandle[] =
    "NET/OFI {}: mhandle is NULL, but provider {} needs registered memory";
inline constexpr char kOutOfRange[] =
    "NET/OFI {}: data={} size={} is outside the registration [{:#x}, +{})";
inline constexpr char kTooManyTags[] = "NET/OFI {}: more than {} different tags on one comm";
inline constexpr char kForkedChild[] =
    "NET/OFI {}: called in a child of the process that initialised the plugin; only the parent may use it";
inline constexpr char kNameTooLong[] =
    "NET/OFI listen: endpoint name of {} bytes does not fit a handle ({})";

}  // namespace duofi::messages
