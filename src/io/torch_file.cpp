// SPDX-License-Identifier: GPL-3.0-or-later
// The layout is that of torch/serialization.py (_save): NAME/data.pkl, NAME/data/KEY, NAME/byteorder; before PyTorch 1.6
// (_legacy_save): five pickles (magic number, version, facts of the machine, the object, the keys of its storages), then for each
// key the number of its elements and these. How tensors are written in the pickle: torch/_utils.py (_rebuild_tensor_v2,
// _rebuild_parameter).
#include "io/torch_file.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "io/pickle.h"
#include "io/safetensors_header.h"
#include "io/zip_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

namespace headlight::io {
namespace {

constexpr std::uint64_t kMaxPickle = 32u << 20;
constexpr std::int64_t kMaxTensorDimensions = 16;

constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildTensor3 = "torch._utils._rebuild_tensor_v3";  // fp8: refused by its type
constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter";

constexpr std::array<std::pair<std::string_view, DType>, 10> kStorages{{{"torch.FloatStorage", DType::F32},
                                                                        {"torch.DoubleStorage", DType::F64},
                                                                        {"torch.HalfStorage", DType::F16},
                                                                        {"torch.BFloat16Storage", DType::BF16},
                                                                        {"torch.LongStorage", DType::I64},
                                                                        {"torch.IntStorage", DType::I32},
                                                                        {"torch.ShortStorage", DType::I16},
                                                                        {"torch.CharStorage", DType::I8},
                                                                        {"torch.ByteStorage", DType::U8},
                                                                        {"torch.BoolStorage", DType::Bool}}};

constexpr std::array<std::string_view, 25> kAllowed{
    "collections.OrderedDict", kRebuildTensor, kRebuildTensor3, kRebuildParameter, "torch.Size", "torch.FloatStorage",
    "torch.DoubleStorage", "torch.HalfStorage", "torch.BFloat16Storage", "torch.LongStorage", "torch.IntStorage",
    "torch.ShortStorage", "torch.CharStorage", "torch.ByteStorage", "torch.BoolStorage",
    // Refused later, with the tensor that has them.
    "torch.QInt8Storage", "torch.QUInt8Storage", "torch.QInt32Storage", "torch.ComplexFloatStorage", "torch.ComplexDoubleStorage",
    "torch.storage.UntypedStorage", "torch.float8_e4m3fn", "torch.float8_e5m2", "torch.float8_e4m3fnuz", "torch.float8_e5m2fnuz"};

class TorchReader {
public:
    explicit TorchReader(std::shared_ptr<const MappedFile> file) : mapped_(std::move(file)), file_(mapped_->path()) {}

    std::vector<TensorView> read() {
        if (is_legacy()) {
            read_legacy();
        } else {
            if (!looks_like_zip(mapped_->bytes())) fail("Not a file of PyTorch", {}, "a zip archive");
            members_ = read_zip(mapped_->bytes(), file_);
            find_prefix();
            std::vector<std::byte> room;
            pickle_ = read_pickle(unpack(members_.at(prefix_ + "data.pkl"), file_, kMaxPickle, room), file_, kAllowed);
        }
        const PickleValue& dict = state_dict();
        for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) add(*dict.items[i], *dict.items[i + 1]);
        return std::move(tensors_);
    }

private:
    [[noreturn]] void fail(const std::string& problem, const std::string& item = {}, const std::string& expected = {},
                           const std::string& found = {}, const std::string& hint = {}) const {
        throw Error(ErrorFacts{
            .problem = problem, .file = file_.string(), .item = item, .expected = expected, .found = found, .hint = hint});
    }
    [[noreturn]] void fail_tensor(const std::string& problem, const std::string& expected = {}, const std::string& found = {},
                                  const std::string& hint = {}) const {
        fail(problem, "tensor " + name_, expected, found, hint);
    }

    /// The magic number of torch.save before 1.6, a pickle of its own.
    static constexpr std::array<unsigned char, 15> kLegacy{0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                                           0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e};
    bool is_legacy() const {
        const auto bytes = mapped_->bytes();
        return bytes.size() >= kLegacy.size() && std::memcmp(bytes.data(), kLegacy.data(), kLegacy.size()) == 0;
    }

    void read_legacy() {
        constexpr std::int64_t version = 1001;
        std::span<const std::byte> rest = mapped_->bytes().subspan(kLegacy.size());
        const auto next = [&] {
            std::size_t used = 0;
            Pickle read = read_pickle(rest, file_, kAllowed, &used);
            rest = rest.subspan(used);
            return read;
        };
        if (const Pickle written = next(); written.root->integer != version)
            fail("An old file of PyTorch in another version", {}, std::to_string(version), std::to_string(written.root->integer));
        const Pickle machine = next();
        for (std::size_t i = 0; i + 1 < machine.root->items.size(); i += 2)
            if (machine.root->items[i]->text == "little_endian" && machine.root->items[i + 1]->integer == 0)
                fail("Numbers in another byte order", "little_endian", "True", "False");
        pickle_ = next();
        std::map<std::string, std::pair<std::int64_t, std::int64_t>> sizes;  // of a storage's element, and how many
        for (const PickleValue& value : pickle_.values) {
            if (value.kind != PickleKind::persistent || value.items[0]->items.size() < 5) continue;
            const auto& id = value.items[0]->items;
            const auto row =
                std::ranges::find(kStorages, std::string_view(id[1]->text), &std::pair<std::string_view, DType>::first);
            if (row == kStorages.end()) fail_type(id[1]->text);
            sizes[id[2]->text] = {size_of(row->second), id[4]->integer};
        }
        const Pickle keys = next();
        for (const PickleValue* key : keys.root->items) {
            const auto size = sizes.find(key->text);
            if (size == sizes.end()) fail("The file lists a storage that no tensor uses", "storage " + key->text);
            const auto [element, expected] = size->second;
            std::int64_t count = -1, bytes = 0;
            if (rest.size() >= sizeof count) std::memcpy(&count, rest.data(), sizeof count);
            if (count != expected || count < 0 || !checked_byte_size({count}, element, bytes) ||
                static_cast<std::uint64_t>(bytes) > rest.size() - sizeof count)
                fail("A storage has the wrong size (cut short?)", "storage " + key->text, std::to_string(expected) + " numbers",
                     count < 0 ? "the end of the file" : std::to_string(count));
            storages_[key->text] = rest.subspan(sizeof count, static_cast<std::size_t>(bytes));
            rest = rest.subspan(sizeof count + static_cast<std::size_t>(bytes));
        }
        if (!rest.empty()) fail("Bytes that belong to no tensor", {}, "the end of the file", bytes_text(rest.size()));
    }

    void find_prefix() {
        for (const auto& [name, entry] : members_)
            if (name == "data.pkl" || name.ends_with("/data.pkl")) {
                if (!prefix_.empty() || found_) fail("Two pickles in one archive", "member " + name);
                prefix_ = name.substr(0, name.size() - std::string_view("data.pkl").size());
                found_ = true;
            }
        if (!found_)
            fail("An archive that is no file of PyTorch", {}, "a member data.pkl",
                 std::to_string(members_.size()) + " other members");
        for (const auto& [name, entry] : members_)
            if (name.starts_with(prefix_ + "code/"))
                fail("A TorchScript program, not a state dict", "member " + name, {}, {},
                     "Save the weights alone: torch.save(torch.jit.load(file).state_dict(), 'pytorch_model.bin')");
        if (const auto order = members_.find(prefix_ + "byteorder"); order != members_.end()) {
            std::vector<std::byte> room;
            const auto text = unpack(order->second, file_, 16, room);
            const std::string_view word(reinterpret_cast<const char*>(text.data()), text.size());
            if (word != "little") fail("Numbers in another byte order", "member byteorder", "little", std::string(word));
        }
    }

    static bool is_call(const PickleValue& value) { return value.kind == PickleKind::call; }

    static bool holds_tensors(const PickleValue& dict) {
        for (std::size_t i = 1; i < dict.items.size(); i += 2)
            if (is_call(*dict.items[i])) return true;
        return false;
    }

    const PickleValue& state_dict() const {
        const PickleValue& root = *pickle_.root;
        if (root.kind != PickleKind::dict)
            fail("Not a state dict", "data.pkl", "a dict: name -> tensor", is_call(root) ? "a single tensor" : "something else",
                 "Save model.state_dict()");
        for (const std::string_view key : {"state_dict", "model_state_dict", "model", "module"})
            for (std::size_t i = 0; i + 1 < root.items.size(); i += 2)
                if (root.items[i]->text == key && root.items[i + 1]->kind == PickleKind::dict &&
                    holds_tensors(*root.items[i + 1]))
                    return *root.items[i + 1];
        if (holds_tensors(root)) return root;
        fail("No tensors in the file", "data.pkl", "a state dict: name -> tensor",
             "a dict of " + std::to_string(root.items.size() / 2) + " other values");
    }

    void add(const PickleValue& key, const PickleValue& value) {
        if (!is_call(value)) return;  // a step counter, a version
        if (key.kind != PickleKind::text) fail("A tensor without a name", "data.pkl", "a text");
        name_ = key.text.size() > 200 ? key.text.substr(0, 200) + "…" : key.text;
        if (!names_.insert(key.text).second) fail_tensor("The same name twice");
        const PickleValue* tensor = &value;
        // A parameter is a tensor wrapped by one call, never by more.
        if (tensor->items[0]->text == kRebuildParameter) {
            const auto& arguments = tensor->items[1]->items;
            if (arguments.empty() || !is_call(*arguments[0])) fail_tensor("A parameter without a tensor");
            tensor = arguments[0];
        }
        if (tensor->items[0]->text == kRebuildTensor3) {
            const auto& arguments = tensor->items[1]->items;
            fail_type(arguments.size() > 6 ? arguments[6]->text : "");
        }
        if (tensor->items[0]->text != kRebuildTensor) fail_tensor("Not a tensor", {}, tensor->items[0]->text);
        add_tensor(key.text, tensor->items[1]->items);
    }

    [[noreturn]] void fail_type(const std::string& type) const {
        const bool fp8 = type.find("float8") != std::string::npos;
        fail_tensor(fp8 ? "a tensor is quantised to 8-bit floating point (fp8), which is not read"
                        : "a tensor of a type that is not read",
                    "float64, float32, float16, bfloat16, int64, int32, int16, int8, uint8 or bool", type,
                    fp8 ? "Use the original checkpoint, or one converted to bfloat16" : "");
    }

    std::int64_t size_of_argument(const PickleValue& value, const char* what) const {
        if (value.kind != PickleKind::integer || value.integer < 0)
            fail_tensor(std::string("wrong ") + what, "whole numbers from 0",
                        value.kind == PickleKind::integer ? std::to_string(value.integer) : "something else");
        return value.integer;
    }
    std::vector<std::int64_t> sizes(const PickleValue& value, const char* what) const {
        const PickleValue* list = &value;
        if (is_call(value) && value.items[0]->text == "torch.Size" && value.items[1]->items.size() == 1)
            list = value.items[1]->items[0];
        if ((list->kind != PickleKind::tuple && list->kind != PickleKind::list) ||
            static_cast<std::int64_t>(list->items.size()) > kMaxTensorDimensions)
            fail_tensor(std::string("wrong ") + what, "a tuple of at most " + std::to_string(kMaxTensorDimensions) + " numbers");
        std::vector<std::int64_t> numbers;
        for (const PickleValue* item : list->items) numbers.push_back(size_of_argument(*item, what));
        return numbers;
    }

    struct Storage {
        DType dtype;
        std::span<const std::byte> bytes;
    };

    /// ('storage', torch.FloatStorage, '0', 'cpu', number of elements)
    Storage storage_of(const PickleValue& value) const {
        if (value.kind != PickleKind::persistent || value.items[0]->kind != PickleKind::tuple ||
            value.items[0]->items.size() != (storages_.empty() ? 5u : 6u))
            fail_tensor("A tensor without a storage");
        const auto& id = value.items[0]->items;
        if (id[0]->text != "storage" || id[1]->kind != PickleKind::global || id[2]->kind != PickleKind::text)
            fail_tensor("A tensor without a storage");
        const auto row = std::ranges::find(kStorages, std::string_view(id[1]->text), &std::pair<std::string_view, DType>::first);
        if (row == kStorages.end()) fail_type(id[1]->text);
        const std::int64_t count = size_of_argument(*id[4], "storage size");
        if (!storages_.empty()) {
            if (id[5]->kind != PickleKind::none)
                fail_tensor("A tensor's storage is a view of another storage, which is not read");
            const auto own = storages_.find(id[2]->text);
            if (own == storages_.end()) fail_tensor("The storage of a tensor is missing", "storage " + id[2]->text);
            return {row->second, own->second};
        }
        const auto member = members_.find(prefix_ + "data/" + id[2]->text);
        if (member == members_.end()) fail_tensor("The storage of a tensor is missing", "member data/" + id[2]->text);
        std::int64_t bytes = 0;
        if (!checked_byte_size({count}, size_of(row->second), bytes)) fail_tensor("The storage overflows 64 bits");
        if (!member->second.is_stored())
            fail_tensor("The archive was packed again", "members that are stored",
                        "member data/" + id[2]->text + " is compressed", "Unpack it and zip it without compression (zip -0)");
        if (member->second.bytes.size() != static_cast<std::size_t>(bytes))
            fail_tensor("A storage has the wrong size (cut short?)", bytes_text(bytes) + " in data/" + id[2]->text,
                        bytes_text(member->second.bytes.size()));
        return {row->second, member->second.bytes};
    }

    void add_tensor(const std::string& name, const std::vector<const PickleValue*>& arguments) {
        if (arguments.size() < 6) fail_tensor("A tensor with too few parts", "6", std::to_string(arguments.size()));
        const Storage storage = storage_of(*arguments[0]);
        const std::int64_t offset = size_of_argument(*arguments[1], "storage offset");
        TensorView view;
        view.name = name;
        view.dtype = storage.dtype;
        view.shape = sizes(*arguments[2], "size");
        view.file = file_;
        const std::vector<std::int64_t> strides = sizes(*arguments[3], "stride");
        if (strides.size() != view.shape.size())
            fail_tensor("Size and stride do not fit", shape_text(view.shape), shape_text(strides));
        const std::int64_t element = size_of(storage.dtype), have = static_cast<std::int64_t>(storage.bytes.size()) / element;
        std::int64_t bytes = 0;
        if (!checked_byte_size(view.shape, element, bytes))
            fail_tensor("The shape overflows 64 bits", {}, shape_text(view.shape));
        check_reach(view.shape, strides, offset, have);
        if (row_major(view.shape, strides)) {
            view.bytes = bytes == 0
                             ? storage.bytes.first(0)
                             : storage.bytes.subspan(static_cast<std::size_t>(offset * element), static_cast<std::size_t>(bytes));
            view.owner = mapped_;
        } else {
            copy(view, strides, storage.bytes.data() + offset * element, element, bytes);
        }
        tensors_.push_back(std::move(view));
    }

    /// The farthest element must lie in the storage.
    void check_reach(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides, std::int64_t offset,
                     std::int64_t have) const {
        std::int64_t last = offset;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            if (shape[d] == 0) return;
            std::int64_t step = 0;
            if (__builtin_mul_overflow(shape[d] - 1, strides[d], &step) || __builtin_add_overflow(last, step, &last))
                fail_tensor("The strides overflow 64 bits", {}, shape_text(strides));
        }
        if (last >= have)
            fail_tensor("The storage is shorter than its tensor", "at least " + std::to_string(last) + " + 1 numbers",
                        std::to_string(have));
    }

    static bool row_major(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
        std::int64_t expected = 1;
        for (std::size_t d = shape.size(); d-- > 0;) {
            if (shape[d] == 0) return true;
            if (shape[d] != 1 && strides[d] != expected) return false;
            expected *= shape[d];
        }
        return true;
    }

    void copy(TensorView& view, const std::vector<std::int64_t>& strides, const std::byte* from, std::int64_t element,
              std::int64_t bytes) {
        // A stride of 0 repeats numbers: a few bytes of file must not ask for all the memory there is.
        copied_ += static_cast<std::uint64_t>(bytes);
        const std::uint64_t limit = mapped_->bytes().size() + (64u << 20);
        if (copied_ > limit)
            fail_tensor("The tensors repeat more numbers than the file holds", "at most " + bytes_text(limit),
                        std::to_string(copied_));
        auto room = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes));
        std::vector<std::int64_t> at(view.shape.size(), 0);
        std::int64_t source = 0;
        for (std::int64_t i = 0; i < bytes; i += element) {
            std::memcpy(room->data() + i, from + source * element, static_cast<std::size_t>(element));
            for (std::size_t d = at.size(); d-- > 0;) {
                source += strides[d];
                if (++at[d] < view.shape[d]) break;
                source -= strides[d] * view.shape[d];
                at[d] = 0;
            }
        }
        view.bytes = *room;
        view.owner = std::move(room);
    }

    std::shared_ptr<const MappedFile> mapped_;
    const std::filesystem::path& file_;
    std::map<std::string, ZipEntry> members_;
    std::map<std::string, std::span<const std::byte>> storages_;  ///< by key, of a file before PyTorch 1.6
    std::string prefix_;
    bool found_ = false;
    Pickle pickle_;
    std::string name_;
    std::set<std::string> names_;
    std::uint64_t copied_ = 0;
    std::vector<TensorView> tensors_;
};

}  // namespace

bool is_torch_file(const MappedFile& file) {
    const std::string extension = file.path().extension().string();
    return extension == ".bin" || extension == ".pt" || extension == ".pth" || extension == ".ckpt" ||
           looks_like_zip(file.bytes());
}

std::vector<TensorView> read_torch_file(const std::shared_ptr<const MappedFile>& file) { return TorchReader(file).read(); }

}  // namespace headlight::io
