// SPDX-License-Identifier: GPL-3.0-or-later
// The arrays of every kind of accumulator: they come back as they were, and damage behind a checksum that holds is refused by
// the name of an array, or gives numbers that can be merged.
#include "headlight/corpus/store/stored_corpus.h"
#include "headlight/corpus/store/text_store.h"
#include "headlight/io/checksum.h"
#include "tests/corpus/runs.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>

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

const OpenedModel& small_model() {
    static const OpenedModel one = opened(fixture_model("gpt2"));
    return one;
}

/// It ran over documents with words and mentions.
const StoredCorpus& sound() {
    static const std::shared_ptr<const StoredCorpus> stored = [] {
        const test::TempFolder folder;
        fs::create_directories(folder / "texts");
        for (const char* name : {"documents.conllu", "pro_stereotyped.txt"})
            fs::copy_file(source_file(std::string("tests/fixtures/coreference/") + name), folder / "texts" / name);
        RunSetup setup = run_setup(folder / "store", folder / "texts", {}, small_model());
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
    const OpenedModel& own = small_model();
    EXPECT_EQ(saved_bytes(merged), saved_bytes(Gathered({GetParam()}, AccumulatorContext{own.model->config(), *own.tokenizer})));
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

/// Sums, rounded weights, and numbers of tokens and sentences.
constexpr const char* kMayBeNegative =
    "heads.(sum|distance)|distances.sums|tags.(mass|even_mass|rows|along|off_first|distance|even_along)|agreement.readings|"
    "words.sentence|.*_weight";
/// The same, bytes of strings, and what nothing in a store bounds: positions, offsets, counts of a bin.
constexpr const char* kMayBeLarge =
    "heads.(sum|distance|rows|top_query|top_key)|variability.shape|neurons.(histogram.count|.*.position|.*.next)|distances.sums|"
    "tags.(mass|even_mass|rows|along|off_first|distance|even_along)|agreement.(readings|places)|"
    "words.(sentence|bytes|string_bytes)|mentions.(key_bytes|bytes|chain_form_tokens)|.*_weight";

TEST_P(StoredKinds, RefuseNumbersBelowAndBeyondWhatTheyMayBe) {
    for (const auto& [name, array] : content_) {
        if (array.bytes.empty() || array.dtype == io::DType::F32) continue;
        using testing::MatchesRegex;
        const bool is_byte = array.dtype == io::DType::U8;
        const std::int64_t lowest = std::numeric_limits<std::int64_t>::min() >> (64 - 8 * io::size_of(array.dtype));
        EXPECT_TRUE(is_byte || !with_last(name, lowest).empty() || testing::Value(name, MatchesRegex(kMayBeNegative))) << name;
        EXPECT_TRUE(!with_last(name, is_byte ? 255 : ~lowest).empty() || testing::Value(name, MatchesRegex(kMayBeLarge))) << name;
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

TEST(StoredStrings, HoldAnyByte) {
    TextPart part;
    part.texts = {{.id = "\u00e9t\u00e9", .text = "na\u00efve \U0001f642"}, {.id = "b", .text = "\xff"}, {.id = "", .text = ""}};
    const TextPart read = part_of(arrays_of(part), "store");
    for (std::size_t i = 0; i < part.texts.size(); ++i) EXPECT_EQ(read.texts.at(i).text, part.texts[i].text);
    EXPECT_EQ(read.texts[0].id, part.texts[0].id);
}

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
