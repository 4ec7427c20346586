// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app.h"

#include "headlight/figure/core/c_locale.h"
#include "headlight/figure/core/request.h"
#include "headlight/io/atomic_file.h"
#include "headlight/model/locate.h"
#include "ui/style/appearance.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QBuffer>
#include <QEventLoop>
#include <QSettings>
#include <QStandardPaths>
#include <QTimer>

#include <cstdio>
#include <filesystem>

namespace headlight::ui {

namespace {

constexpr QSize window_size{1440, 900};
constexpr int longest_wait_ms = 120'000;

struct Picture {
    std::string file, caption;
};

/// Runs the event loop until no job is left and every view is up to date; false if that takes too long.
bool settle(MainWindow& window) {
    QEventLoop loop;
    QTimer limit, poll;
    bool done = false;
    limit.setSingleShot(true);
    QObject::connect(&limit, &QTimer::timeout, &loop, &QEventLoop::quit);
    QObject::connect(&poll, &QTimer::timeout, &loop, [&] {
        done = window.jobs().idle() && (window.document().up_to_date() || window.error_panel().isVisible());
        if (done) loop.quit();
    });
    limit.start(longest_wait_ms);
    do {
        poll.start(5);
        loop.exec();
        poll.stop();
        // Deliveries ask for layouts, and layouts for others: of a scroll area, its bar, and what makes room for it.
        constexpr int layouts_in_turn = 4;
        for (int i = 0; i < layouts_in_turn; ++i) {
            QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
            QCoreApplication::processEvents();
        }
    } while (done && !window.jobs().idle() && limit.isActive());
    return done && window.document().trace();
}

Picture grab_window(MainWindow& window, const std::filesystem::path& folder, const std::string& theme, const View& view) {
    window.show_view(view);
    settle(window);
    const std::string name = "window-" + view + "-" + theme + ".png";
    QBuffer buffer;  // a full disk is then an error of the file, not a line of libpng's
    if (!window.grab().save(&buffer, "png"))
        throw Error(ErrorFacts{.problem = "The picture could not be encoded", .file = (folder / name).string()});
    io::write_atomically(folder / name, std::string_view(buffer.data().constData(), static_cast<std::size_t>(buffer.size())));
    return {name, "The window, " + view + " view, " + theme};
}

Picture write_view(MainWindow& window, const std::filesystem::path& folder, const std::string& theme, const View& view) {
    figure::ExportOptions output;
    output.style = style_for(Appearance::instance().theme(), window.document());
    const auto selection = without_hover(window.document().selection().get());
    const Recipe recipe = recipe_for(window.document(), view, selection);
    const auto request = request_for(recipe, selection, output);
    const auto figure = figure::make_figure(recipe.trace, recipe.state);
    const std::string name = view + "-" + theme + ".png";
    figure::export_figure(*figure, selection, figure::provenance_of(*recipe.trace, request, "png"), output, folder / name);
    return {name, view_title(view).toStdString() + " view, " + theme};
}

std::string index_page(const std::vector<Picture>& pictures) {
    std::string page =
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Headlight: the views</title>\n"
        "<style>body{font:15px Inter,sans-serif;margin:32px;background:#f6f6f4;color:#1d2127}"
        "figure{margin:0 0 40px}img{max-width:100%;border:1px solid #e3e2de;border-radius:6px}"
        "figcaption{margin:0 0 8px;color:#646a73}</style>\n<h1>Headlight</h1>\n<p>The views of the sentence “" +
        std::string(example_sentence) + "”, made by the program itself.</p>\n";
    for (const Picture& p : pictures) {
        page +=
            "<figure><figcaption>" + p.caption + "</figcaption><img src=\"" + p.file + "\" alt=\"" + p.caption + "\"></figure>\n";
    }
    return page + "</html>\n";
}

}  // namespace

int write_gallery(int& argc, char** argv, const std::string& folder) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    figure::use_c_locale();
    QStandardPaths::setTestModeEnabled(true);  // without the user's settings and autosave
    QCoreApplication::setApplicationName(QStringLiteral("headlight-gallery"));
    QSettings().clear();
    Appearance::instance().start();
    std::error_code ec;
    std::filesystem::create_directories(folder, ec);
    if (ec) throw Error(ErrorFacts{.problem = "The folder cannot be created", .file = folder, .found = ec.message()});

    MainWindow window;
    window.resize(window_size);
    window.show();
    window.open(QString::fromLatin1(model::default_model_name));
    if (!settle(window)) throw Error(ErrorFacts{.problem = window.error_panel().message().toStdString()});
    std::vector<Picture> pictures;
    for (const auto mode : {Appearance::Mode::light, Appearance::Mode::dark}) {
        Appearance::instance().set_mode(mode);
        const std::string theme = mode == Appearance::Mode::light ? "light" : "dark";
        const auto has = [&](const figure::ViewSpec& spec) {
            return !spec.missing || spec.missing(*window.document().trace()).empty();
        };
        for (const figure::ViewQuestion& question : figure::view_questions())
            for (const figure::ViewPlace& place : question.places)
                if (const View& view = place.presets.front().view; has(figure::view_spec(view)))
                    pictures.push_back(grab_window(window, folder, theme, view));
        for (const figure::ViewSpec& spec : figure::view_specs())
            if (has(spec)) pictures.push_back(write_view(window, folder, theme, spec.id));
    }
    io::write_atomically(std::filesystem::path(folder) / "index.html", index_page(pictures));
    std::printf("%s\n", (std::filesystem::path(folder) / "index.html").string().c_str());
    return 0;
}

}  // namespace headlight::ui
