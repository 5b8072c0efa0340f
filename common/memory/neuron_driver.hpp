// The functions of the Neuron runtime that we call, with their own types written out. Facts of the
// public headers nrt.h, nrt_version.h and nec.h: names, signatures, values. A table of pointers,
// filled once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/memory/driver_library.hpp"

namespace duofi::memory {

using NeuronResult = int;
using NeuronTensor = struct NeuronTensorTag*;

struct NeuronVersion {
    std::uint64_t number[4];  ///< major, minor, patch, maintenance
    char detail[128];
    char git_hash[64];
};

struct NeuronInstance {
    std::uint32_t family;
    std::uint32_t size;
    char arch_name[16];
    char device_revision[8];
};

inline constexpr NeuronResult kNeuronOk = 0;
inline constexpr NeuronResult kNeuronInvalid = 2;
inline constexpr NeuronResult kNeuronInvalidHandle = 3;
inline constexpr NeuronResult kNeuronResource = 4;
inline constexpr NeuronResult kNeuronUninitialized = 13;
inline constexpr NeuronResult kNeuronClosed = 14;
inline constexpr int kNeuronNoFramework = 1;
inline constexpr int kNeuronOnDevice = 0;

// Families, as the header numbers them.
inline constexpr std::uint32_t kNeuronInf1 = 1;
inline constexpr std::uint32_t kNeuronTrn1 = 2;
inline constexpr std::uint32_t kNeuronTrn1n = 3;
inline constexpr std::uint32_t kNeuronInf2 = 4;
inline constexpr std::uint32_t kNeuronInf2e = 7;
inline constexpr std::uint32_t kNeuronTrn3Switch = 15;

/// The last five may be NULL: not in all versions.
struct NeuronDriver {
    NeuronResult (*init)(int framework, const char* framework_version, const char* layer_version);
    void (*close)();
    NeuronResult (*version)(NeuronVersion* version, std::size_t bytes);
    NeuronResult (*visible_cores)(std::uint32_t* count);
    NeuronResult (*instance)(NeuronInstance* instance, std::size_t bytes);
    NeuronResult (*allocate)(int placement, int core, std::size_t bytes, const char* name,
                             NeuronTensor* tensor);
    void (*release)(NeuronTensor* tensor);
    void* (*address)(const NeuronTensorTag* tensor);
    NeuronResult (*read)(const NeuronTensorTag* tensor, void* to, std::size_t offset,
                         std::size_t bytes);
    NeuronResult (*write)(NeuronTensor tensor, const void* from, std::size_t offset,
                          std::size_t bytes);
    NeuronResult (*set_bytes)(NeuronTensor tensor, std::uint64_t offset, int value,
                              std::size_t bytes);
    NeuronResult (*dmabuf)(std::uint64_t address, std::uint64_t bytes, int* fd);
    NeuronResult (*virtual_core_size)(std::uint32_t* cores);
    int (*peer_mla)(int device, int mla, int port);
    int (*mla_to_rid)(int device, int mla);
    int (*device_bus_id)(int device, std::uint32_t* domain, std::uint32_t* bus, std::uint8_t* slot,
                         std::uint8_t* function);
};

/// Errors: those of DriverLibrary::bind.
[[nodiscard]] Status bind_neuron(const DriverLibrary& library, NeuronDriver& driver);

}  // namespace duofi::memory
