// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/appearance.h"

#include <QApplication>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QDBusVariant>
#include <QPalette>
#include <QSettings>
#include <QStyle>
#include <QStyleFactory>
#include <QToolTip>
#include <QVariant>
#include <QWidget>

/// Resources of a static library are not found by themselves.
static void load_resources() { Q_INIT_RESOURCE(resources); }

namespace headlight::ui {

namespace {

const QString portal_service = QStringLiteral("org.freedesktop.portal.Desktop");
const QString portal_path = QStringLiteral("/org/freedesktop/portal/desktop");
const QString portal_interface = QStringLiteral("org.freedesktop.portal.Settings");
const QString appearance_space = QStringLiteral("org.freedesktop.appearance");
const QString scheme_key = QStringLiteral("color-scheme");

QPalette palette_of(const figure::Theme& t) {
    QPalette p;
    p.setColor(QPalette::Window, t.panel);
    p.setColor(QPalette::WindowText, t.text);
    p.setColor(QPalette::Base, t.canvas);
    p.setColor(QPalette::AlternateBase, t.panel);
    p.setColor(QPalette::Text, t.text);
    p.setColor(QPalette::PlaceholderText, t.faint);
    p.setColor(QPalette::Button, t.chip);
    p.setColor(QPalette::ButtonText, t.text);
    p.setColor(QPalette::BrightText, t.on_accent);
    p.setColor(QPalette::Highlight, t.accent);
    p.setColor(QPalette::HighlightedText, t.on_accent);
    p.setColor(QPalette::Link, t.accent);
    p.setColor(QPalette::LinkVisited, t.accent);
    p.setColor(QPalette::ToolTipBase, t.canvas);
    p.setColor(QPalette::ToolTipText, t.text);
    p.setColor(QPalette::Light, t.canvas);
    p.setColor(QPalette::Midlight, t.chip);
    p.setColor(QPalette::Mid, t.line);
    p.setColor(QPalette::Dark, t.line);
    p.setColor(QPalette::Shadow, t.line);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        p.setColor(QPalette::Disabled, role, t.faint);
    }
    return p;
}

/// The portal answers a variant inside a variant on old versions.
bool says_dark(QVariant value) {
    while (value.canConvert<QDBusVariant>()) value = value.value<QDBusVariant>().variant();
    return value.toUInt() == 1;  // 1: prefer dark
}

}  // namespace

Appearance& Appearance::instance() {
    static Appearance* const appearance = new Appearance;  // lives as long as the program: widgets ask until the end
    return *appearance;
}

void Appearance::start() {
    if (started_) return;
    started_ = true;
    load_resources();
    const QPalette desktop = QApplication::palette();
    system_dark_ = desktop.color(QPalette::Window).lightness() < desktop.color(QPalette::WindowText).lightness();
    const QString saved = QSettings().value(QStringLiteral("appearance")).toString();
    mode_ = saved == QLatin1String("dark") ? Mode::dark : saved == QLatin1String("light") ? Mode::light : Mode::system;
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QApplication::setFont(figure::ui_font(13));
    apply();
    ask_desktop();
}

void Appearance::ask_desktop() {
    QDBusConnection bus = QDBusConnection::sessionBus();
    if (!bus.isConnected()) return;
    bus.connect(portal_service, portal_path, portal_interface, QStringLiteral("SettingChanged"), this,
                SLOT(portal_setting_changed(QString, QString, QDBusVariant)));
    QDBusMessage question = QDBusMessage::createMethodCall(portal_service, portal_path, portal_interface, QStringLiteral("Read"));
    question << appearance_space << scheme_key;
    auto* watcher = new QDBusPendingCallWatcher(bus.asyncCall(question), this);
    connect(watcher, &QDBusPendingCallWatcher::finished, this, [this](QDBusPendingCallWatcher* call) {
        const QDBusPendingReply<QDBusVariant> reply = *call;
        if (!reply.isError()) set_system_dark(says_dark(reply.value().variant()));
        call->deleteLater();
    });
}

void Appearance::portal_setting_changed(const QString& space, const QString& key, const QDBusVariant& value) {
    if (space == appearance_space && key == scheme_key) set_system_dark(says_dark(value.variant()));
}

void Appearance::set_system_dark(bool dark) {
    if (system_dark_ == dark) return;
    system_dark_ = dark;
    if (mode_ == Mode::system) apply();
}

const figure::Theme& Appearance::theme() const {
    const bool dark = mode_ == Mode::dark || (mode_ == Mode::system && system_dark_);
    return dark ? figure::Theme::dark_theme() : figure::Theme::light();
}

void Appearance::set_mode(Mode mode) {
    if (mode_ == mode) return;
    mode_ = mode;
    QSettings().setValue(QStringLiteral("appearance"), mode == Mode::dark    ? QStringLiteral("dark")
                                                       : mode == Mode::light ? QStringLiteral("light")
                                                                             : QStringLiteral("system"));
    if (started_) apply();
}

void Appearance::apply() {
    const figure::Theme& t = theme();
    QApplication::setPalette(palette_of(t));
    qApp->setStyleSheet(style_sheet(t));
    QToolTip::setFont(figure::ui_font(12));
    Q_EMIT changed();
}

void set_style_property(QWidget& widget, const char* name, const QVariant& value) {
    if (widget.property(name) == value) return;
    widget.setProperty(name, value);
    widget.style()->unpolish(&widget);
    widget.style()->polish(&widget);
}

}  // namespace headlight::ui
