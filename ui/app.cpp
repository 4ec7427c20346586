// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app.h"

#include "headlight/base/version.h"
#include "headlight/figure/core/c_locale.h"
#include "headlight/model/locate.h"
#include "ui/bus_guard.h"
#include "ui/dialogs/file_dialogs.h"
#include "ui/panels/prompt/memory_form.h"
#include "ui/style/appearance.h"
#include "ui/style/fit_windows.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QFileInfo>
#include <QHashFunctions>
#include <QSettings>
#include <QTimer>

#include <cstdio>

namespace headlight::ui {

namespace {

void name_application() {
    QCoreApplication::setOrganizationName(QStringLiteral("headlight"));
    QCoreApplication::setApplicationName(QStringLiteral("headlight"));
    QCoreApplication::setApplicationVersion(QLatin1String(version()));
    QGuiApplication::setApplicationDisplayName(QStringLiteral("Headlight"));
    QGuiApplication::setDesktopFileName(QStringLiteral("headlight"));
}

/// Last resort: reports an uncaught exception instead of terminating.
class Application : public QApplication {
public:
    using QApplication::QApplication;
    MainWindow* window = nullptr;

    bool notify(QObject* receiver, QEvent* event) override {
        try {
            return QApplication::notify(receiver, event);
        } catch (...) {
            if (!window) throw;
            window->show_failure({QStringLiteral("Something went wrong"), facts_of_current_exception()});
            return true;
        }
    }
};

}  // namespace

void start_document(MainWindow& window, const WindowOptions& options) {
    Document& document = window.document();
    const bool asked =
        options.model || options.text || options.pair || options.image || options.view || options.look != FirstLook{};
    if (!asked && window.restore_lost()) {
        window.offer_lost();
        return;
    }
    PromptText prompt = document.prompt();
    if (options.text) prompt.text = QString::fromStdString(*options.text);
    if (options.pair) {
        prompt.pair = QString::fromStdString(*options.pair);
        prompt.has_pair = true;
    }
    if (options.image) prompt.image = QFileInfo(QString::fromStdString(*options.image)).absoluteFilePath();
    document.set_prompt(prompt);
    QSettings settings;
    const QString offered = QStringLiteral("tour/offered");
    if (!asked && !settings.value(offered).toBool()) {
        settings.setValue(offered, true);
        QTimer::singleShot(1200, &window, [&window] {  // the picture first
            if (!window.tour() && !window.history().stack().canUndo()) new TourOffer(window);
        });
    }
    window.open(options.model ? QString::fromStdString(*options.model) : QString::fromLatin1(model::default_model_name));
    if (options.look != FirstLook{}) document.look_first(options.look);
    if (options.view) window.open_with(*options.view);
    document.set_modified(false);
    window.history().clear();
    if (!window.offer_lost() && !asked) window.offer_reopening();
}

int run_window(int& argc, char** argv, const WindowOptions& options) {
    QHashSeed::setDeterministicGlobalSeed();  // as for a picture without the window: a PDF lists its fonts in the order of a hash
    name_application();
    Application application(argc, argv);
    figure::use_c_locale();
    Appearance::instance().start();
    BusGuard guard;  // outlives the window, whose jobs read files until they end
    take_stored_memory_budget();
    repair_file_dialogs(application);
    new FitWindows(application);
    MainWindow window(options.load);
    application.window = &window;
    QObject::connect(&guard, &BusGuard::lost, &window,
                     [&](const QString& file) { window.lose_model(facts_of_lost(file.toStdString())); });
    const QSettings settings;
    const QByteArray geometry = settings.value(QStringLiteral("window/geometry")).toByteArray();
    if (geometry.isEmpty() || !window.restoreGeometry(geometry)) window.resize(1440, 900);
    window.restore_panels(settings.value(QStringLiteral("window/body")).toByteArray());
    window.show();
    // The window first, the model behind it.
    QTimer::singleShot(0, &window, [&] {
        start_document(window, options);
        if (!options.announces) return;
        std::puts("The window is open");
        std::fflush(stdout);
    });
    const int code = application.exec();
    application.window = nullptr;
    return code;
}

}  // namespace headlight::ui
