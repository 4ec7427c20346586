// SPDX-License-Identifier: GPL-3.0-or-later
// Files as people have them: odd ends of lines, quotes, packed, damaged.
#include "headlight/corpus/reading/read_texts.h"

#include "corpus/reading/line_reader.h"
#include "headlight/text/tokenizer.h"
#include "tests/corpus/fixtures.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

struct ReadTexts {
    std::vector<std::string> texts, ids, left_out;
    std::vector<Text> all;
};

ReadTexts read(const fs::path& path, const ReadOptions& options = {}) {
    ReadTexts out;
    read_texts(
        path, options,
        [&](Text&& text) {
            out.texts.push_back(text.text);
            out.ids.push_back(text.id);
            out.all.push_back(std::move(text));
            return true;
        },
        [&](LeftOut one) { out.left_out.push_back(one.id + ": " + one.reason); });
    return out;
}

std::string reading_error(const fs::path& path, const ReadOptions& options = {}) {
    return error_of([&] { read(path, options); });
}

std::string gzip(const std::string& content) {
    std::string out(compressBound(content.size()) + 64, '\0');
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

std::string zstd(const std::string& content) {
    std::string out(ZSTD_compressBound(content.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), content.data(), content.size(), 3));
    return out;
}

const std::string kPlain = "\xEF\xBB\xBFOne.\r\n\r\n  \nTwo\r\nthree.\n\xC3\xA9\n\nLast, without an end";

TEST(PlainText, IsLinesParagraphsOrAWholeFile) {
    const test::TempFolder folder;
    const fs::path file = folder.write("a.txt", kPlain);
    const ReadTexts lines = read(file, {.unit = TextUnit::line});
    EXPECT_THAT(lines.texts, ElementsAre("One.", "Two", "three.", "\xC3\xA9", "Last, without an end"));
    EXPECT_THAT(lines.ids, ElementsAre("a.txt:1", "a.txt:4", "a.txt:5", "a.txt:6", "a.txt:8"));
    const ReadTexts paragraphs = read(file, {.unit = TextUnit::paragraph});
    EXPECT_THAT(paragraphs.texts, ElementsAre("One.", "Two\nthree.\n\xC3\xA9", "Last, without an end"));
    EXPECT_THAT(paragraphs.ids, ElementsAre("a.txt:1", "a.txt:4", "a.txt:8"));
    EXPECT_THAT(read(file, {.unit = TextUnit::document}).texts,
                ElementsAre("One.\n\n  \nTwo\nthree.\n\xC3\xA9\n\nLast, without an end"));
    EXPECT_THAT(read(folder.write("empty.txt", ""), {.unit = TextUnit::document}).left_out, ElementsAre("empty.txt: empty"));
}

TEST(PlainText, ListsWhatCannotBeDecoded) {
    const test::TempFolder folder;
    const ReadTexts some = read(folder.write("a.txt", "fine\nbroken \xFF here\n\xED\xA0\x80\nfine too\n"));
    EXPECT_THAT(some.texts, ElementsAre("fine", "fine too"));
    EXPECT_THAT(some.left_out, ElementsAre("a.txt:2: not UTF-8 (byte 7)", "a.txt:3: not UTF-8 (byte 0)"));
    const std::string too_long(11u << 20, 'x');
    EXPECT_THAT(read(folder.write("long.txt", "a\n" + too_long + "\nb\n")).left_out,
                ElementsAre("long.txt:2: longer than 10 MiB"));
    EXPECT_THAT(read(folder.write("long.txt", "a\n" + too_long), {.unit = TextUnit::document}).left_out,
                ElementsAre("long.txt: longer than 10 MiB"));
}

TEST(PlainText, AParagraphThatIsTooLongEndsAtItsBlankLine) {
    const test::TempFolder folder;
    const std::string long_line(text::kLongestText + 1, 'x');
    const ReadTexts found = read(folder.write("p.txt", "one\n\n" + long_line + "\nits second line\n\nthree\n\nfour\nfour\n"),
                                 {.unit = TextUnit::paragraph});
    EXPECT_THAT(found.texts, ElementsAre("one", "three", "four\nfour"));
    EXPECT_THAT(found.ids, ElementsAre("p.txt:1", "p.txt:6", "p.txt:8"));
    EXPECT_THAT(found.left_out, ElementsAre("p.txt:3: longer than 10 MiB"));
    // The same at the end of a file.
    EXPECT_THAT(read(folder.write("e.txt", "one\n\n" + long_line), {.unit = TextUnit::paragraph}).left_out,
                ElementsAre("e.txt:3: longer than 10 MiB"));
}

TEST(PlainText, AFileWithoutBlankLinesIsOneParagraphAndANoteSaysSo) {
    const test::TempFolder folder;
    const auto notes = [&](const std::string& content, TextUnit unit = TextUnit::paragraph) {
        std::vector<std::string> said;
        for (const Text& text : read(folder.write("a.txt", content), {.unit = unit}).all)
            for (const TextNote& note : text.notes) said.push_back(note.place + ": " + note.what);
        return said;
    };
    EXPECT_THAT(notes("one\ntwo\n"), ElementsAre(testing::AllOf(HasSubstr("a.txt: no blank line"), HasSubstr("--unit line"))));
    EXPECT_THAT(notes("one\n"), testing::IsEmpty()) << "a line is a paragraph";
    EXPECT_THAT(notes("one\ntwo\n\nthree\n"), testing::IsEmpty());
    EXPECT_THAT(notes("one\ntwo\n", TextUnit::line), testing::IsEmpty());
    EXPECT_THAT(notes("one\ntwo\n", TextUnit::document), testing::IsEmpty());
}

/// Texts are read again when a run is resumed, and a device has no end.
TEST(PlainText, IsOfRegularFiles) {
    const test::TempFolder folder;
    for (const char* name :
         {"pipe", "pipe.txt.gz", "pipe.zst", "pipe.csv", "pipe.jsonl", "pipe.conllu", "pipe_conll", "pro_stereotyped.txt"}) {
        const fs::path pipe = folder / name, device = folder / ("to-" + std::string(name));
        ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
        EXPECT_THAT(reading_error(pipe), testing::AllOf(HasSubstr(name), HasSubstr("expected a regular file, found a pipe")));
        fs::create_symlink("/dev/zero", device);
        EXPECT_THAT(reading_error(device), testing::AllOf(HasSubstr(name), HasSubstr("expected a regular file, found a device")));
    }
}

/// A line may have no end: of 3 GB of zeros in a file of 3 MB, say.
TEST(PlainText, ReadingEndsWithinALine) {
    const test::TempFolder folder;
    // None of these lines can be read to its end: who asks for the token between lines alone would say so.
    const std::string endless(3u << 20, 'x');
    const auto cut = [](const std::string& packed) { return packed.substr(0, packed.size() - 10); };
    for (const auto& [name, content] : {std::pair("a.csv", '"' + endless), std::pair("a.txt.gz", cut(gzip(endless))),
                                        std::pair("a.jsonl.zst", cut(zstd(endless)))}) {
        const fs::path file = folder.write(name, content);
        EXPECT_NE(reading_error(file), "no error") << name;
        const CancelToken token;
        LineReader lines(file, token);
        token.cancel();
        std::string line;
        EXPECT_THROW(lines.next(line), Cancelled) << name;
        EXPECT_THROW(read_texts(
                         file, {}, [](Text&&) { return true; }, {}, token),
                     Cancelled)
            << name;
    }
}

/// As a user who is not root while one lives: root may read everything.
class AsNobody {
public:
    AsNobody() { change(65534); }
    ~AsNobody() { change(0); }

private:
    void change(uid_t user) const {
        if (root_ && ::seteuid(user) != 0) throw std::runtime_error("cannot change the user");
    }
    const bool root_ = ::getuid() == 0;
};

TEST(Folders, ASubfolderWithoutPermissionIsListedAndTheOthersAreRead) {
    const test::TempFolder folder;
    folder.write("texts/a.txt", "one");
    folder.write("texts/secret/b.txt", "two");
    folder.write("texts/z/c.txt", "three");
    fs::permissions(folder.path(), fs::perms::all);
    fs::permissions(folder / "texts/secret", fs::perms::none);
    {
        const AsNobody nobody;
        const ReadTexts some = read(folder / "texts");
        EXPECT_THAT(some.texts, ElementsAre("one", "three"));
        EXPECT_THAT(some.left_out, ElementsAre("secret: a folder that cannot be read (Permission denied)"));
        EXPECT_THAT(reading_error(folder / "texts/secret"),
                    testing::AllOf(HasSubstr("texts/secret"), HasSubstr("Permission denied")));
    }
    fs::permissions(folder / "texts/secret", fs::perms::owner_all);
}

TEST(PackedText, IsTheSameAndSaysWhenItIsDamaged) {
    const test::TempFolder folder;
    std::string content;
    for (int i = 0; i < 20'000; ++i) content += "line " + std::to_string(i * 7919 % 10'007) + "\n";
    const std::vector<std::string> expected = read(folder.write("a.txt", content)).texts;
    for (const auto& [name, packed] : {std::pair("a.txt.gz", gzip(content)), std::pair("a.txt.zst", zstd(content))}) {
        const fs::path file = folder.write(name, packed);
        EXPECT_EQ(read(file).texts, expected) << name;
        EXPECT_EQ(read(folder.write(name, packed + packed)).texts.size(), 2 * expected.size()) << name << ": two members";
        EXPECT_THAT(reading_error(folder.write(name, packed.substr(0, packed.size() / 2))), HasSubstr("cannot be decompressed"))
            << name;
        std::string changed = packed;
        changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 0x55);
        EXPECT_THAT(reading_error(folder.write(name, changed)), HasSubstr("cannot be decompressed")) << name;
        EXPECT_THAT(reading_error(folder.write(name, "plain")), HasSubstr("cannot be decompressed")) << name;
    }
}

TEST(Jsonl, KeepsOtherScalarsAndNamesABrokenLine) {
    const test::TempFolder folder;
    const ReadTexts some =
        read(folder.write("a.jsonl",
                          "{\"text\": \"a\\n\\u00e9\\u0000b\", \"year\": 1816, \"x\": [1], \"ok\": true, \"who\": "
                          "\"Emma\", \"none\": null}\n\n{\"text\": \"\"}\n{\"text\": null}\n{\"text\": \"\xFF\"}\n"));
    EXPECT_THAT(some.texts, ElementsAre(std::string("a\n\xC3\xA9\0b", 6)));
    EXPECT_EQ(some.all[0].fields, (std::map<std::string, std::string>{{"year", "1816"}, {"ok", "true"}, {"who", "Emma"}}));
    EXPECT_THAT(some.left_out, ElementsAre("a.jsonl:3: empty", "a.jsonl:4: empty", "a.jsonl:5: not UTF-8 (byte 10)"));
    std::string content;
    for (int i = 1; i < 10'000; ++i) content += "{\"text\": \"fine\"}\n";
    EXPECT_THAT(reading_error(folder.write("long.jsonl", content + "{\"text\": \"cut\n")),
                testing::AllOf(HasSubstr("long.jsonl"), HasSubstr("line 10000")));
    for (const char* broken : {R"([1])",
                               R"({"text": 1})",
                               R"({"text": "\ud800"})",
                               R"({"text": "a"} x)",
                               R"({"text": "a", "text": "b"})",
                               R"(null)",
                               R"({)",
                               R"("a")",
                               R"({"text": "a",})",
                               R"({"text" "a"})",
                               R"({text: "a"})",
                               R"({'text': 'a'})",
                               R"({"text": "a)",
                               R"({"text": "\x41"})",
                               R"({"text": "\u12"})",
                               R"({"text": "\udc00 a"})",
                               R"({"text": ["a"]})",
                               R"({"text": {"a": 1}})",
                               R"({"text": true})",
                               R"({"text": 1e999, "b": "a"})",
                               R"(})",
                               R"([])",
                               R"(1)",
                               R"(true)",
                               R"({}{})",
                               R"({"text": "a"}{"text": "b"})",
                               R"({"text": "a"]})",
                               "{\"text\": \"a\tb\"}",
                               R"(text)",
                               R"({"other": "a"})",
                               R"({"text": NaN})"})
        EXPECT_THAT(reading_error(folder.write("b.jsonl", std::string(broken) + "\n")), HasSubstr("line 1")) << broken;
    EXPECT_THAT(reading_error(folder.write("b.jsonl", std::string(200'000, '[') + "\n")), HasSubstr("line 1"));
    EXPECT_THAT(reading_error(folder.write("b.jsonl", "{\"texts\": \"a\"}\n")), HasSubstr("Did you mean --field texts?"));
    EXPECT_THAT(read(folder.write("b.jsonl", "{\"body\": \"a\"}\n"), {.field = "body"}).texts, ElementsAre("a"));
}

TEST(Csv, HasQuotesAndNamesABrokenRow) {
    const test::TempFolder folder;
    const ReadTexts some =
        read(folder.write("a.csv", "\xEF\xBB\xBFid,text,label\r\n1,\"a, \"\"b\"\"\nsecond line\",x\r\n\r\n2,,y\r\n3, c ,\r\n"));
    EXPECT_THAT(some.texts, ElementsAre("a, \"b\"\nsecond line", " c "));
    EXPECT_THAT(some.ids, ElementsAre("a.csv:2", "a.csv:6"));
    EXPECT_EQ(some.all[0].fields, (std::map<std::string, std::string>{{"id", "1"}, {"label", "x"}}));
    EXPECT_THAT(some.left_out, ElementsAre("a.csv:5: empty"));
    EXPECT_THAT(read(folder.write("a.tsv", "text\tn\nb, c\t1\n")).texts, ElementsAre("b, c"));
    EXPECT_THAT(read(folder.write("no.csv", "")).left_out, ElementsAre("no.csv: empty"));
    for (const char* broken : {"text,n\na\n",        "text,n\na,1,2\n",
                               "text\n\"a\n",        "text\n\"a\" b\n",
                               "text\n\"a\"\"\n",    "a,b\n1,2\n",
                               "text,n\n\"a,1\n",    "text,n\na,\"1\n",
                               "text,n\na,1\nb\n",   "text,n\na,1\nb,2,3\n",
                               "text,n\n\"a\"b,1\n", "text,n\n\"a\"\"b,1\n",
                               "text,n\n\"a\" ,1\n", "Text\na\n",
                               " text\na\n",         "text;n\na;1\n",
                               "text\tn\na\t1\n",    "n\n1\n",
                               "\"text\na\n",        "text,n\n,\n\"\n",
                               "text,n\n\"\"\"\n",   "text,n\na\n\n",
                               "text,n,m\na,1\n",    "text\na,b\n",
                               "\"te\"xt\na\n",      "text,n\n\"a\nb\n",
                               "text,n\n1,2\n3\n",   "text,n\n\"a\",\"b\" c\n",
                               "text,n\na,1\n\"b\n", "text,n\n\"\"a,1\n"})
        EXPECT_THAT(reading_error(folder.write("b.csv", broken)), HasSubstr("b.csv, line")) << broken;
}

TEST(Folders, AreReadInTheOrderOfTheirPaths) {
    const test::TempFolder folder;
    folder.write("t/b.txt", "b\n");
    folder.write("t/a/z.jsonl", "{\"text\": \"z\"}\n");
    folder.write("t/a.txt", "a\n");
    folder.write("t/.hidden/x.txt", "hidden\n");
    folder.write("t/picture.png", "\x89PNG");
    folder.write("t/c.conllu",
                 "# text = Go.\n1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No\n2\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_\n\n");
    const ReadTexts all = read(folder / "t");
    EXPECT_THAT(all.texts, ElementsAre("a", "z", "b", "Go."));
    EXPECT_THAT(all.ids, testing::Contains("a/z.jsonl:1"));
    EXPECT_EQ(all.all.back().words.size(), 2u);
    EXPECT_THAT(all.left_out, ElementsAre("picture.png: unknown kind of file"));
    EXPECT_THAT(reading_error(folder / "absent"), HasSubstr("No such file"));
    EXPECT_THAT(reading_error(folder.write("a.parquet", "PAR1")),
                HasSubstr("pandas.read_parquet('a.parquet').to_json('a.jsonl'"));
    EXPECT_THAT(reading_error(folder.write("a.arrow", "ARROW1")), HasSubstr("datasets.Dataset.from_file('a.arrow')"));
}

}  // namespace
}  // namespace headlight::corpus
