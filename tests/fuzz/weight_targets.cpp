// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "io/pickle.h"
#include "io/torch_file.h"
#include "tests/fuzz/target_tools.h"
#include "tests/fuzz/targets.h"
#include "tests/support/torch_archive.h"

#include <algorithm>
#include <array>

namespace headlight::test {

void fuzz_gguf(std::string_view content) {
    const auto bytes = std::as_bytes(std::span(content));
    try {
        const auto file = io::GgufFile::parse(bytes, "fuzz");
        std::int64_t read = 0;
        for (const auto& [name, tensor] : file->tensors()) {
            require(tensor.bytes.data() >= bytes.data(), "a tensor lies inside the file");
            require(tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + bytes.size(), "a tensor lies inside the file");
            const io::GgmlLayout& layout = *io::layout_of(tensor.type);
            require(static_cast<std::int64_t>(tensor.bytes.size()) == tensor.numel() / layout.elements * layout.bytes,
                    "a tensor has as many bytes as its shape says");
            read += tensor.numel();
            if (!layout.readable || read > 1'000'000) continue;
            std::vector<float> numbers(static_cast<std::size_t>(tensor.numel()));
            io::dequantize(tensor.type, tensor.bytes, numbers.data());
        }
        (void)file->metadata().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    } catch (const Error&) {
    }
}

void fuzz_pickle(std::string_view content) {
    static constexpr std::array<std::string_view, 3> kAllowed = {"collections.OrderedDict", "torch._utils._rebuild_tensor_v2",
                                                                 "torch.FloatStorage"};
    try {
        const io::Pickle pickle = io::read_pickle(std::as_bytes(std::span(content)), "fuzz", kAllowed);
        require(pickle.root != nullptr, "a pickle has a value");
        for (const io::PickleValue& value : pickle.values)
            if (value.kind == io::PickleKind::global)
                require(std::ranges::find(kAllowed, value.text) != kAllowed.end(), "no global beside those that are allowed");
    } catch (const Error&) {
        return;  // the archive would say the same
    }
    const std::string archive = zip_of({{"archive/data.pkl", std::string(content)},
                                        {"archive/byteorder", "little"},
                                        {"archive/data/0", std::string(32, 'x')},
                                        {"archive/version", "3\n"}});
    try {
        for (const io::TensorView& view : io::read_torch_file(io::MappedFile::open(written("f.bin", archive)))) {
            require(static_cast<std::int64_t>(view.bytes.size()) == view.numel() * io::size_of(view.dtype),
                    "a tensor has as many bytes as its shape says");
            unsigned sum = 0;
            for (const std::byte b : view.bytes) sum += static_cast<unsigned>(b);
            (void)sum;
        }
    } catch (const Error&) {
    }
}

}  // namespace headlight::test
