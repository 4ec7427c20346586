// SPDX-License-Identifier: GPL-3.0-or-later
// The arrays of every kind of accumulator: they come back as they were, and damage behind a checksum that holds is refused by
// the name of an array, or gives numbers that can be merged.
#include "headlight/corpus/store/stored_corpus.h"
#include "headlight/io/checksum.h"
#include "tests/corpus/runs.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <set>

namespace headlight::corpus {
namespace stored_test {

namespace fs = std::filesystem;

struct Array {
    io::DType dtype;
    std::vector<std::int64_t> shape;
    std::string bytes;
};
using Content = std::map<std::string, Array>;

Content content_of(const Arrays& arrays) {
    const test::TempFolder folder;
    arrays.write(folder / "a.safetensors", {});
    Content content;
    const io::TensorStore store = io::TensorStore::open_file(folder / "a.safetensors");
    for (const auto& [name, view] : store.tensors())
        content[name] = {view.dtype, view.shape, {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()}};
    return content;
}

/// A small model over documents with words and mentions.
const StoredCorpus& sound() {
    static const std::shared_ptr<const StoredCorpus> stored = [] {
        const test::TempFolder folder;
        fs::create_directories(folder / "texts");
        for (const char* name : {"documents.conllu", "pro_stereotyped.txt"})
            fs::copy_file(source_file(std::string("tests/fixtures/coreference/") + name), folder / "texts" / name);
        RunSetup setup = run_setup(folder / "store", folder / "texts", {}, opened(fixture_model("gpt2")));
        for (const AccumulatorKind& kind : accumulator_kinds()) setup.options.measures.emplace_back(kind.id);
        run_store(setup);
        return read_store(setup.store);
    }();
    return *stored;
}

class StoredKinds : public testing::TestWithParam<const char*> {
protected:
    StoredKinds() {
        Arrays arrays;
        Gathered({GetParam()}, sound().merged.arrays, 0).save(arrays);
        content_ = content_of(arrays);
    }
    /// Opens, saves and merges what a file with this content holds.
    void open(const Content& content) const {
        std::vector<io::ArrayRef> arrays;
        for (const auto& [name, array] : content)
            arrays.push_back({name, array.dtype, array.shape, std::as_bytes(std::span(array.bytes))});
        io::write_checked_safetensors(folder_ / "a.safetensors", arrays, {});
        Arrays read = Arrays::read(folder_ / "a.safetensors");
        read.set_chunks(sound().manifest.chunks());
        const Gathered opened({GetParam()}, read, 0);
        Gathered merged({GetParam()}, sound().merged.arrays, 0), again = merged.fresh();
        merged.merge(opened);
        again.load(saved_arrays(opened));
        (void)saved_arrays(merged);
    }
    /// The error of a file in which `damage` changed an array; empty: it is read.
    std::string after(const std::string& name, const std::function<void(Array&)>& damage) const {
        Content content = content_;
        damage(content.at(name));
        const std::string error = error_of([&] { open(content); }, "");
        EXPECT_TRUE(error.empty() || error.find(std::string(GetParam()) + ".") != std::string::npos) << name << ": " << error;
        return error;
    }
    std::string with_last(const std::string& name, std::int64_t value) const {
        return after(name, [&](Array& array) {
            const auto size = static_cast<std::size_t>(io::size_of(array.dtype));
            std::memcpy(array.bytes.data() + array.bytes.size() - size, &value, size);
        });
    }

    test::TempFolder folder_;
    Content content_;
};

TEST_P(StoredKinds, AreReadAndMergedWithTheSameBytes) {
    const Gathered opened({GetParam()}, sound().merged.arrays, 0);
    Gathered merged = opened.fresh();
    merged.merge(opened);
    EXPECT_EQ(saved_bytes(merged), saved_bytes(opened));
    Gathered loaded = opened.fresh();
    loaded.load(saved_arrays(opened));
    EXPECT_EQ(saved_bytes(loaded), saved_bytes(opened));
    const OpenedModel& other = built_in();
    Gathered elsewhere({GetParam()}, AccumulatorContext{other.model->config(), *other.tokenizer});
    EXPECT_THROW(elsewhere.load(saved_arrays(opened)), Error) << "another model";
}

TEST_P(StoredKinds, RefuseArraysOfAnotherTypeOrShape) {
    using io::DType;
    const std::map<DType, DType> other{{DType::I64, DType::F64},
                                       {DType::I32, DType::F32},
                                       {DType::I16, DType::F16},
                                       {DType::F32, DType::I32},
                                       {DType::U8, DType::I8}};
    for (const auto& [name, array] : content_) {
        EXPECT_NE(after(name, [&](Array& of) { of.dtype = other.at(of.dtype); }), "") << name;
        EXPECT_NE(after(name, [](Array& of) { of.shape.push_back(1); }), "") << name;
        if (array.bytes.empty()) continue;
        EXPECT_NE(after(name,
                        [](Array& of) {
                            of.bytes.resize(of.bytes.size() / static_cast<std::size_t>(of.shape[0]) *
                                            static_cast<std::size_t>(of.shape[0] - 1));
                            --of.shape[0];
                        }),
                  "")
            << name << " without its last row";
        Content missing = content_;
        missing.erase(name);
        EXPECT_THAT(error_of([&] { open(missing); }), testing::HasSubstr(GetParam()));
    }
}

/// Sums and weights may be any number, and so may a token's id.
bool may_be_negative(const std::string& name, const Array& array) {
    static const std::set<std::string> any{"agreement.readings", "words.sentence"};
    return array.dtype == io::DType::F32 || array.dtype == io::DType::U8 || any.contains(name) || name.ends_with("_weight") ||
           (array.dtype == io::DType::I64 && array.shape.size() > 1 && array.shape.back() == 2 && name != "words.bytes" &&
            name != "agreement.places") ||
           (name.starts_with("tags.") && array.shape.size() == 2 && array.dtype == io::DType::I64);
}
/// Bytes of strings, and numbers that nothing in a store bounds: positions, tokens, offsets, counts of a bin.
bool may_be_large(const std::string& name) {
    static const std::set<std::string> any{"heads.rows",         "heads.top_query",   "heads.top_key",
                                           "variability.shape",  "neurons.histogram", "agreement.places",
                                           "words.string_bytes", "words.bytes",       "words.sentence",
                                           "mentions.key_bytes", "mentions.bytes",    "mentions.chain_form_tokens"};
    return any.contains(name) || name.ends_with("_weight") || name.ends_with(".position") || name.ends_with(".next");
}

TEST_P(StoredKinds, RefuseNumbersBelowAndBeyondWhatTheyMayBe) {
    for (const auto& [name, array] : content_) {
        if (array.bytes.empty()) continue;
        const auto bits = 8 * io::size_of(array.dtype);
        const bool may = may_be_negative(name, array), is_byte = array.dtype == io::DType::U8;
        const std::int64_t lowest = std::numeric_limits<std::int64_t>::min() >> (64 - bits), largest = is_byte ? 255 : ~lowest;
        EXPECT_TRUE(may || !with_last(name, lowest).empty()) << name;
        EXPECT_TRUE((may && !is_byte) || may_be_large(name) || !with_last(name, largest).empty()) << name;
    }
}

TEST_P(StoredKinds, SurviveAnyByte) {
    for (const auto& [name, array] : content_)
        for (std::size_t step = std::max<std::size_t>(1, array.bytes.size() / 8), at = 0; at < array.bytes.size(); at += step)
            for (const int mask : {0x80, 0xff})
                after(name, [&](Array& of) { of.bytes[at] = static_cast<char>(of.bytes[at] ^ mask); });
}

INSTANTIATE_TEST_SUITE_P(All, StoredKinds, testing::ValuesIn([] {
                             std::vector<const char*> ids;
                             for (const AccumulatorKind& kind : accumulator_kinds()) ids.push_back(kind.id);
                             return ids;
                         }()),
                         [](const auto& each) { return std::string(each.param); });

/// The file, the array and the value are named; and numbers that cancel in their sum are not taken for each other.
TEST(StoredErrors, NameWhatIsWrong) {
    const Arrays& arrays = sound().merged.arrays;
    const auto changed = [&](const std::string& name, std::vector<std::int64_t> shape, std::int64_t first, std::int64_t second) {
        Arrays out = arrays;
        auto values = arrays.get<std::int64_t>(name, shape);
        const auto step = static_cast<std::size_t>(shape.back() > 0 ? shape.back() : 1);
        values.at(step - 1) += first;
        values.at(2 * step - 1) += second;
        shape.front() = std::ssize(values) / static_cast<std::int64_t>(step);
        out.put<std::int64_t>(name, shape, values);
        return error_of([&] { Gathered({name.substr(0, name.find('.'))}, out, 0); });
    };
    using testing::AllOf, testing::HasSubstr;
    EXPECT_THAT(changed("distances.kept", {-1, 4}, 20'000'000, -20'000'000), HasSubstr("distances.kept"));
    EXPECT_THAT(changed("heads.chunks", {-1}, 1'000'000, 0),
                AllOf(HasSubstr("heads.chunks"), HasSubstr("merged.safetensors"), HasSubstr("found 1000000")));
    EXPECT_THAT(changed("heads.chunks", {-1}, 1, 0), AllOf(HasSubstr("expected more than 1"), HasSubstr("found 1")));
    EXPECT_THAT(changed("mentions.end", {-1}, 1000, -1000), AllOf(HasSubstr("mentions.end"), HasSubstr("found 10")));
}

}  // namespace stored_test
}  // namespace headlight::corpus
