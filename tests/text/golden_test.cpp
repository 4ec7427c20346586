// SPDX-License-Identifier: GPL-3.0-or-later
// Encodings against those of Hugging Face tokenizers, kept as digests by tests/golden/make_text_golden.py.
#include "headlight/io/hash.h"
#include "headlight/io/json_file.h"
#include "headlight/text/tokenizer.h"
#include "tests/support/case_name.h"
#include "tests/support/temp_folder.h"
#include "text/unicode/utf8.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace headlight::text {
namespace golden_test {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kTests = HEADLIGHT_SOURCE_DIR "/tests";
constexpr std::size_t kGroup = 16;

/// Collects encodings as 32-bit little-endian numbers and hashes them.
class Digest {
public:
    void add(const Encoding& e) {
        put(e.size());
        for (const auto id : e.ids) put(id);
        for (const ByteRange r : e.offsets) put(r.begin), put(r.end);
        for (const auto word : e.words) put(word);
        for (const auto type : e.type_ids) put(type);
    }
    std::string take() {
        const std::string hex = io::sha256_hex(std::as_bytes(std::span(bytes_)));
        bytes_.clear();
        return hex.substr(0, 8);
    }

private:
    void put(std::int64_t v) {
        for (int shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<char>(v >> shift));
    }
    std::vector<char> bytes_;
};

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
}

/// Compares group by group; names the texts of each group that differs.
void expect_digests(const Tokenizer& t, const std::vector<std::string>& texts, const std::string& expected, std::size_t group) {
    const auto digests = words_of(expected);
    ASSERT_EQ(digests.size(), (texts.size() + group - 1) / group);
    Digest digest;
    int shown = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        digest.add(t.encode(texts[i]));
        if (i + 1 < texts.size() && (i + 1) % group != 0) continue;
        const std::size_t first = i / group * group;
        if (digest.take() != digests[i / group] && ++shown <= 5) {
            ADD_FAILURE() << "texts " << first << " to " << i << " differ; the first: " << testing::PrintToString(texts[first]);
        }
    }
    EXPECT_LE(shown, 5) << "groups differ";
}

std::vector<std::string> lines_of(const fs::path& file) {
    std::vector<std::string> lines;
    std::istringstream in(io::read_text(file) + "\n");
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::vector<std::string> treebank_sentences(const fs::path& file) {
    const std::string mark = "# text = ";
    std::vector<std::string> out;
    for (const std::string& line : lines_of(file)) {
        if (line.starts_with(mark)) out.push_back(line.substr(mark.size()));
    }
    return out;
}

std::vector<std::uint32_t> generator(std::size_t count) {
    std::vector<std::uint32_t> out;
    for (std::uint64_t state = 12345; out.size() < count;) {
        state = (state * 1103515245 + 12345) % (1ULL << 31);
        out.push_back(static_cast<std::uint32_t>(state >> 16));
    }
    return out;
}

std::vector<std::string> long_texts() {
    std::vector<std::string> out{std::string(1'000'000, 'a'), "", "", "", std::string(1'000'000, ' ')};
    for (const auto n : generator(1'000'000)) {
        out[1] += static_cast<char>('a' + n % 26);
        out[3] += "!?.,;:-*#"[n % 9];
    }
    for (const auto n : generator(333'333)) utf8::append(out[2], 0x4E00 + n % 5000);
    return out;
}

std::vector<std::string> sweep_texts() {
    std::vector<std::string> out;
    std::size_t count = 0;
    const auto add = [&](char32_t first, char32_t end) {
        for (char32_t c = first; c < end; ++c) {
            if (c >= 0xD800 && c < 0xE000) continue;
            if (count++ % 64 == 0) out.emplace_back();
            const std::string s = utf8::encode(c);
            out.back() += "a" + s + "b" + s + "\u0301\u0323" + s + " ";
        }
    };
    add(0, 0x33000);
    add(0xE0000, 0xE1000);
    return out;
}

fs::path folder_of(const std::string& name) {
    if (name == "novella-7m") return HEADLIGHT_SOURCE_DIR "/models/novella-7m";
    if (name == "sentence-encoder") {
        const char* folder = std::getenv("HEADLIGHT_SENTENCE_ENCODER");
        return folder ? folder : "";
    }
    return kTests / "fixtures" / "text" / name;
}

/// Texts that are not part of the repository: in HEADLIGHT_TEXTS, or beside the working tree.
fs::path other_texts() {
    if (const char* folder = std::getenv("HEADLIGHT_TEXTS")) return folder;
    return fs::path(HEADLIGHT_SOURCE_DIR).parent_path() / "shared" / "data";
}

class Golden : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        const fs::path folder = folder_of(GetParam());
        if (folder.empty()) GTEST_SKIP() << "set HEADLIGHT_SENTENCE_ENCODER to the model's folder";
        tokenizer_ = Tokenizer::load(folder);
        sets_ = io::read_json(kTests / "golden/text/digests.json").at(GetParam());
    }
    std::string set(const std::string& name) const { return sets_.at(name).get<std::string>(); }
    std::shared_ptr<const Tokenizer> tokenizer_;
    json sets_;
};

TEST_P(Golden, Torture) {
    const auto texts = io::read_json(kTests / "golden/text/torture.json").get<std::vector<std::string>>();
    expect_digests(*tokenizer_, texts, set("torture"), 1);
}

TEST_P(Golden, Book) { expect_digests(*tokenizer_, lines_of(kTests / "fixtures/text/book.txt"), set("book.txt"), kGroup); }

TEST_P(Golden, Pairs) {
    const std::pair<const char*, const char*> pairs[] = {
        {"Who asked?", "The nurse."}, {"", "b"}, {"a", ""}, {" a ", " b "}, {"don’t", "né ‘x’"}};
    const auto digests = words_of(set("pairs"));
    for (std::size_t i = 0; i < std::size(pairs); ++i) {
        Digest digest;
        digest.add(tokenizer_->encode(pairs[i].first, pairs[i].second));
        EXPECT_EQ(digest.take(), digests.at(i)) << pairs[i].first << " | " << pairs[i].second;
    }
}

TEST_P(Golden, AMillionBytesWithoutASpace) {
    const auto texts = long_texts();
    const auto digests = words_of(set("long"));
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        Digest digest;
        digest.add(tokenizer_->encode(texts[i]));
        EXPECT_EQ(digest.take(), digests.at(i)) << "long text " << i;
        // Generous for a busy machine; a merge that is quadratic takes hours.
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
    }
}

TEST_P(Golden, OtherBooksAndTheTreebank) {
    const fs::path folder = other_texts();
    if (!fs::exists(folder)) GTEST_SKIP() << "the texts are not part of the repository";
    std::size_t compared = 0;
    for (const auto& [name, digests] : sets_.items()) {
        if (name.find('/') == name.npos) continue;
        ++compared;
        const auto texts = name.starts_with("ud/") ? treebank_sentences(folder / name) : lines_of(folder / name);
        SCOPED_TRACE(name);
        expect_digests(*tokenizer_, texts, digests.get<std::string>(), kGroup);
    }
    // The small SentencePiece models are compared on the torture list alone: the books are no part of their goldens.
    if (compared == 0) GTEST_SKIP() << "these goldens have no other texts";
}

INSTANTIATE_TEST_SUITE_P(Text, Golden,
                         testing::Values("novella-7m", "wordpiece", "llama3", "wordpiece-files", "gpt2-files", "roberta-files",
                                         "unigram", "unigram-bytes", "metaspace-bpe", "sentence-encoder"),
                         [](const auto& each) { return test::case_name(each.param); });

/// The rows of stages.json; those with the vocabulary "alphabet" share that of the first.
std::vector<json> stage_rows() {
    auto rows = io::read_json(kTests / "golden/text/stages.json").get<std::vector<json>>();
    EXPECT_GT(rows.size(), 20u);
    for (json& row : rows) {
        json& vocab = row["tokenizer"]["model"]["vocab"];
        if (vocab == "alphabet") vocab = rows[0]["tokenizer"]["model"]["vocab"];
    }
    return rows;
}

std::shared_ptr<const Tokenizer> write_and_load(const json& tokenizer) {
    const test::TempFolder folder;
    return Tokenizer::from_json_file(folder.write("tokenizer.json", tokenizer.dump()));
}

TEST(Stages, EachAloneOnTheTortureTexts) {
    const auto texts = io::read_json(kTests / "golden/text/torture.json").get<std::vector<std::string>>();
    for (const json& row : stage_rows()) {
        SCOPED_TRACE(row.at("name"));
        expect_digests(*write_and_load(row.at("tokenizer")), texts, row.at("torture").get<std::string>(), 4);
    }
}

TEST(Stages, EveryCharacterOfUnicode) {
    const auto texts = sweep_texts();
    std::size_t swept = 0;
    for (const json& row : stage_rows()) {
        if (!row.contains("sweep")) continue;
        ++swept;
        SCOPED_TRACE(row.at("name"));
        expect_digests(*write_and_load(row.at("tokenizer")), texts, row.at("sweep").get<std::string>(), 64);
    }
    EXPECT_GT(swept, 10u);
}

}  // namespace golden_test
}  // namespace headlight::text
