// SPDX-License-Identifier: GPL-3.0-or-later
// The texts of a store: what the same command finds there again, what was not read to its end, and results of other texts.
#include "headlight/corpus/syntax/tag_attention.h"
#include "headlight/corpus/syntax/word_index.h"
#include "tests/corpus/runs.h"

#include <gmock/gmock.h>

#include <fstream>

namespace headlight::corpus {
namespace texts_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RunSetup setup_of(const fs::path& store, const fs::path& texts, const OpenedModel& model = built_in()) {
    RunSetup setup = run_setup(store, texts, {"heads"}, model);
    setup.options.context = 16;
    return setup;
}

/// `count` records, and a broken one behind them.
std::string records(int count, bool broken) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "{\"text\": \"word " + std::to_string(i) + "\"}\n";
    return out + (broken ? "{\"text\": \n" : "");
}

TEST(StoreTexts, AreAppendedOnce) {
    const test::TempFolder folder;
    RunSetup setup = setup_of(folder / "store", folder.write("a.txt", "One.\nTwo.\nThree.\n"));
    EXPECT_EQ(open_store(setup).texts(), 3);
    setup.texts = {.from = folder.write("b.txt", "Four.\n \nFive.\n"), .append = true};
    EXPECT_EQ(open_store(setup).texts(), 5);
    std::string noted;
    EXPECT_EQ(open_store(setup, {}, {}, [&](const std::string& line) { noted = line; }).texts(), 5) << "the same command again";
    EXPECT_THAT(noted, HasSubstr("no text is new"));
    folder.write("b.txt", "Four.\n \nFive.\nSix.\n");
    EXPECT_EQ(open_store(setup).texts(), 6) << "a longer list that begins alike";
    setup.texts.from = folder.write("c.txt", "Four.\nSeven.\n");
    EXPECT_EQ(open_store(setup).texts(), 8) << "other texts";
    const Manifest manifest = read_manifest(folder / "store");
    ASSERT_EQ(manifest.additions.size(), 3u);
    EXPECT_EQ(manifest.additions[2].first_text, 6);
    EXPECT_EQ(manifest.left_out_texts(), 0);
}

TEST(StoreTexts, ThatWereNotReadToTheirEndAreNotAllOfThem) {
    const test::TempFolder folder;
    const fs::path file = folder.write("a.jsonl", records(4100, true));
    for (const bool append : {false, true}) {
        const fs::path store = folder / (append ? "appended" : "new");
        const std::int64_t before = append ? 2 : 0;
        if (append) open_store(setup_of(store, folder.write("first.txt", "One.\nTwo.\n")));
        RunSetup setup = setup_of(store, file);
        setup.texts.append = append;
        folder.write("a.jsonl", records(4100, true));
        EXPECT_THAT(error_of([&] { open_store(setup); }), HasSubstr("line 4101"));
        EXPECT_EQ(read_manifest(store).texts(), before + 4096) << "the first part was written";
        RunSetup rest = setup;
        rest.texts = {};
        EXPECT_THAT(error_of([&] { open_store(rest); }),
                    AllOf(HasSubstr("were not read completely"), HasSubstr(append ? "a.jsonl --append again" : "a.jsonl again")));
        RunSetup limited = setup;
        limited.texts.limit = before + 4096;
        EXPECT_EQ(open_store(limited).texts(), before + 4096);
        EXPECT_EQ(open_store(rest).texts(), before + 4096) << "these were all that were asked for";
        folder.write("a.jsonl", records(4100, false));
        EXPECT_EQ(open_store(setup).texts(), before + 4100);
        EXPECT_EQ(open_store(setup).texts(), before + 4100);
        EXPECT_EQ(open_store(rest).texts(), before + 4100);
    }
}

TEST(StoreTexts, HaveNoResultsOfOthers) {
    const test::TempFolder folder;
    const RunSetup a = setup_of(folder / "a", folder.write("a.txt", "The old doctor.\nTwo.\n")),
                   b = setup_of(folder / "b", folder.write("b.txt", "The old nurse.\nTwo.\n"));
    run_store(a);
    run_store(b);
    const Manifest manifest = read_manifest(a.store);
    EXPECT_EQ(read_merged(a.store, manifest).chunks, 2);
    const auto copy = [&](const char* file) {
        fs::copy_file(b.store / file, a.store / file, fs::copy_options::overwrite_existing);
    };
    copy("merged.safetensors");
    EXPECT_TRUE(read_merged(a.store, manifest).rebuilt) << "from the store's segments";
    copy("segments/0000.safetensors");
    EXPECT_THAT(error_of([&] { read_merged(a.store, manifest); }), HasSubstr("Results are of other texts than the store's"));
    EXPECT_THAT(error_of([&] { segments_of(a.store, manifest); }), HasSubstr("Results are of other texts than the store's"));

    copy("texts/0000.safetensors");
    TextStore texts(a.store, manifest);
    EXPECT_THAT(error_of([&] { texts.text(0); }), AllOf(HasSubstr("damaged"), HasSubstr("SHA-256")));

    fs::remove(a.store / "manifest.json");
    fs::remove_all(a.store / "texts");
    EXPECT_THAT(error_of([&] { run_store(a); }), HasSubstr("results of a store whose manifest.json is missing"));
}

TEST(StoreTexts, OfAnOlderStoreAreRefused) {
    const test::TempFolder folder;
    const RunSetup setup = setup_of(folder / "store", folder.write("a.txt", "One.\n"));
    open_store(setup);
    const fs::path file = setup.store / "manifest.json";
    std::string text = test::slurp(file);
    text.replace(text.find("\"version\": 5"), 12, "\"version\": 4");
    std::ofstream(file) << text;
    EXPECT_THAT(error_of([&] { open_store(setup); }),
                AllOf(HasSubstr("another version"), HasSubstr("Run the texts again into another folder")));
}

TEST(StoreTexts, TakeMeasuresInAnyOrder) {
    const test::TempFolder folder;
    RunSetup setup = setup_of(folder / "store", folder.write("a.txt", "One.\n"));
    setup.options.measures = {"neurons", "heads"};
    open_store(setup);
    EXPECT_EQ(open_store(setup).options.measures, (std::vector<std::string>{"heads", "neurons"}));
    setup.options.measures = {"neurons"};
    EXPECT_THAT(error_of([&] { open_store(setup); }), HasSubstr("expected heads,neurons, found neurons"));
}

TEST(StoreTexts, WithoutATokenOfTheirOwnAreLeftOut) {
    const test::TempFolder folder;
    const RunSetup setup =
        setup_of(folder / "store", folder.write("a.txt", "hello\n\x01\nworld\n"), opened(fixture_model("bert")));
    for (int again = 0; again < 2; ++again) {
        const Manifest manifest = open_store(setup);
        EXPECT_EQ(manifest.texts(), 2);
        EXPECT_EQ(manifest.left_out.at("no tokens"), 1) << "[CLS] and [SEP] alone say nothing";
    }
}

TEST(StoreTexts, MayHaveNamesThatAreNotUtf8) {
    const test::TempFolder folder;
    fs::create_directories(folder / "texts");
    std::ofstream(folder / std::string("texts/caf\xE9.txt")) << "One.\n";
    const RunSetup setup = setup_of(folder / "store", folder / "texts");
    open_store(setup);
    EXPECT_EQ(open_store(setup).texts(), 1) << "found again";
}

std::string sentence(const char* relation) {
    return std::string(
               "# sent_id = s1\n# text = She saw it.\n"
               "1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tsaw\tsee\tVERB\t_\t_\t0\troot\t_\t_\n"
               "3\tit\tit\tPRON\t_\t_\t2\t") +
           relation + "\t_\tSpaceAfter=No\n4\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_\n\n";
}

TEST(StoreTexts, WithOtherWordsAreOtherTexts) {
    const test::TempFolder folder;
    RunSetup setup = setup_of(folder / "store", folder.write("a.conllu", sentence("obj")));
    setup.options.measures = {"words"};
    open_store(setup);
    EXPECT_EQ(open_store(setup).texts(), 1);
    folder.write("a.conllu", sentence("iobj"));
    EXPECT_THAT(error_of([&] { open_store(setup); }),
                AllOf(HasSubstr("The store holds different texts"), HasSubstr("another text, words or fields")));
}

// A treebank with everything that is unusual and still run: a missing # text, a range that is not its words, an empty node, CRLF,
// a circle, two roots. Each is noted once, with file and line and what was made of it.
TEST(StoreTexts, OfAnUnusualTreebankAreRunAndNoted) {
    const test::TempFolder folder;
    const auto row = [](const std::string& id, const char* form, const char* head, const char* relation) {
        return id + "\t" + form + "\t_\tX\t_\t_\t" + head + "\t" + relation + "\t_\t_\r\n";
    };
    const std::string circle = row("1", "a", "2", "dep") + row("2", "b", "1", "dep") + row("3", "c", "0", "root") + "\r\n";
    const std::string roots = "# text = a b\r\n" + row("1", "a", "0", "root") + row("2", "b", "0", "root") + "\r\n";
    const std::string unusual = "# text = Vamos al mar\r\n" + row("1", "Vamos", "0", "root") + row("2-3", "al", "_", "_") +
                                row("2", "a", "4", "case") + row("3", "el", "4", "det") + row("4", "mar", "1", "obl") +
                                row("4.1", "x", "_", "_") + "\r\n";
    RunSetup setup = setup_of(folder / "store", folder.write("odd.conllu", circle + roots + unusual + roots));
    setup.options.measures = {"words", "tags"};
    std::vector<std::string> said;
    const auto note = [&](const std::string& line) { said.push_back(line); };
    open_store(setup, {}, {}, note);
    EXPECT_THAT(said, testing::UnorderedElementsAre(
                          "odd.conllu:1: arcs in a circle: the arcs count as they are",
                          "odd.conllu:1: no # text: the text is made from the forms",
                          "odd.conllu:5: 2 roots: the arcs count as they are (2 texts; headlight corpus info lists them)",
                          "odd.conllu:9: multiword tokens that are not their words: arcs inside them do not count",
                          "odd.conllu:9: empty nodes: left out"));
    const Manifest first = read_manifest(setup.store);
    open_store(setup);
    const Manifest again = read_manifest(setup.store);
    EXPECT_EQ(again.noted, first.noted) << "the same texts are noted once";
    EXPECT_EQ(again.noted.at("2 roots: the arcs count as they are"), 2);
    EXPECT_EQ(again.notes.size(), 6u);
    run_store(setup);
    EXPECT_EQ(read_merged(setup.store, again).chunks, 4);
}

TEST(StoreTexts, ThatAreCutAreCountedOnceAndNeverWhole) {
    const test::TempFolder folder;
    // The cut falls into the tokens of one character's bytes, so that a second chunk begins at byte 0, or a first one ends at the
    // end.
    const std::string emoji = "\xF0\x9F\x98\x80", row = "\t_\tX\t_\t_\t0\troot\t_\t_\n\n";
    RunSetup setup =
        setup_of(folder / "store", folder.write("a.conllu", "# text = ab " + emoji + "\n1\tab " + emoji + row +
                                                                "# text = " + emoji + "\n1\t" + emoji + row + sentence("obj")));
    setup.options.context = 4;
    setup.options.measures = {"words", "tags"};
    run_store(setup);
    const Manifest manifest = read_manifest(setup.store);
    TextStore texts(setup.store, manifest);
    ASSERT_GT(texts.chunks(), 3);
    std::int64_t begin = 0, at_first_byte = 0;
    for (std::int64_t c = 0; c < texts.chunks(); ++c) {
        EXPECT_FALSE(texts.chunk(c).whole) << c;
        begin += texts.chunk(c).begins;
        at_first_byte += texts.chunk(c).first_byte == 0;
    }
    EXPECT_EQ(begin, 3);
    EXPECT_GT(at_first_byte, begin) << "a second chunk may begin at byte 0";
    const Merged merged = read_merged(setup.store, manifest);
    const WordIndex index = WordIndex::read(merged.arrays);
    EXPECT_TRUE(index.sentences().empty());
    EXPECT_EQ(index.counts().left_out, 3);
    EXPECT_EQ(TagAttention::read(merged.arrays).left_out(), 3);
}

}  // namespace texts_test
}  // namespace headlight::corpus
